//! What only some links do: frames, block errors, timed changes and fewer ACKs.

use super::file::{AggregationTable, BlockErrorsTable, ScheduleTable, SlotsTable, StepTable};
use super::read::{Reader, place};
use exm_grammar::{Amounts, FileError, Unit};
use exm_link::{Aggregation, BlockErrors, Slots, Thinning, TimedStep, Timing};
use exm_units::{Packets, Probability, Span};
use toml::Spanned;

impl Reader<'_> {
    pub(super) fn aggregation(
        &self,
        table: Spanned<AggregationTable>,
    ) -> Result<Aggregation, FileError> {
        let AggregationTable { packets, airtime, access } = table.into_inner();
        let usual = Aggregation::default();
        let access = access.map(|text| self.times(&text)).transpose()?;
        Ok(Aggregation::default()
            .packets(packets.unwrap_or(usual.packets))
            .airtime(airtime.unwrap_or(usual.airtime))
            .access(access.unwrap_or(usual.access)))
    }

    /// How a link changes by the clock.
    pub(super) fn timing(
        &self,
        schedule: Option<Spanned<ScheduleTable>>,
        slots: Option<Spanned<SlotsTable>>,
    ) -> Result<Option<Timing>, FileError> {
        match (schedule, slots) {
            (None, None) => Ok(None),
            (Some(schedule), None) => Ok(Some(self.steps(schedule.into_inner()))),
            (None, Some(slots)) => self.slots(slots.into_inner()).map(Some),
            (Some(_), Some(slots)) => {
                let problem = "a link has a \"schedule\" or \"slots\": take one of them out";
                Err(self.source.error(place(&slots), problem))
            }
        }
    }

    fn steps(&self, ScheduleTable { every, steps }: ScheduleTable) -> Timing {
        let step = |StepTable { at, rate, delay, loss }| {
            let rate = rate.map(|rate| rate.of(self.packet));
            TimedStep { at, rate, delay, loss }
        };
        Timing::Steps { steps: steps.into_iter().map(step).collect(), every }
    }

    fn slots(&self, table: SlotsTable) -> Result<Timing, FileError> {
        let SlotsTable { every, delay, lowest_rate, loss, edge } = table;
        if let (Some(loss), None) = (&loss, edge) {
            let problem = "when packets are lost is missing: add \"edge\", a time from the start of each slot";
            return Err(self.source.error(place(loss), problem));
        }
        let usual = Slots::default();
        let delay = delay.map(|text| self.times(&text)).transpose()?;
        Ok(Timing::Slots(Slots {
            every: every.unwrap_or(usual.every),
            delay: delay.unwrap_or(usual.delay),
            lowest_rate: lowest_rate.map(|rate| rate.of(self.packet)),
            loss: loss.map_or(Probability::ZERO, Spanned::into_inner),
            edge: edge.unwrap_or(usual.edge),
        }))
    }

    /// Each ACK of a number, or one in a time.
    pub(super) fn thinning(&self, text: &Spanned<String>) -> Result<Thinning, FileError> {
        match Amounts::single(text.as_ref()) {
            Ok((count, Unit::Packets)) => Ok(Thinning::Each(Packets::new(count as u64))),
            Ok((seconds, Unit::Seconds)) => Ok(Thinning::Every(Span::from_secs_f64(seconds))),
            _ => {
                let problem = format!(
                    "\"{}\" is neither a number of ACKs nor a time: give one such as \"4 packets\" or \"10 ms\"",
                    text.as_ref()
                );
                Err(self.source.error(place(text), problem))
            }
        }
    }
}

pub(super) fn block_errors(table: Spanned<BlockErrorsTable>) -> BlockErrors {
    let BlockErrorsTable { probability, step, retries, slot } = table.into_inner();
    let usual = BlockErrors::default();
    usual
        .probability(probability.unwrap_or(usual.probability))
        .step(step.unwrap_or(usual.step))
        .retries(retries.unwrap_or(usual.retries))
        .slot(slot.unwrap_or(usual.slot))
}
