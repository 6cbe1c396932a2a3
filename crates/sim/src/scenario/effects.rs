//! What only some links do: frames, block errors, timed changes and fewer ACKs.

use super::file::{AggregationTable, BlockErrorsTable};
use super::read::Reader;
use exm_grammar::FileError;
use exm_link::{Aggregation, BlockErrors};
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
