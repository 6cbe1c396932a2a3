//! Settings of TCP and Sprout: a flow's own, else the file's, else the defaults.

use super::file::{SproutTable, TcpTable};
use super::read::{Reader, place};
use super::times::parse_floor;
use exm_grammar::{FileError, suggest};
use exm_sprout::{HORIZON, Method, Model, TICK};
use exm_tcp::{DelayedAcks, IdleRestart, Settings};
use exm_units::{Packets, Span};
use std::ops::RangeInclusive;
use toml::Spanned;

/// The ranges of Sprout's settings; sigma is in packets a second per square root of a second, the
/// outage in seconds.
const RISKS: RangeInclusive<f64> = 0.0001..=0.9999;
const SIGMAS: RangeInclusive<f64> = 1.0..=2000.0;
const OUTAGES: RangeInclusive<f64> = 0.01..=1000.0;

impl Reader<'_> {
    /// The settings of a TCP host.
    pub(super) fn tcp(&self, own: &TcpTable) -> Result<Settings, FileError> {
        let mut settings = Settings::default();
        for table in [&self.tcp, own] {
            if let Some(window) = &table.initial_window {
                if *window.as_ref() == 0 {
                    let problem = "an initial window of zero sends nothing: give 1 or more";
                    return Err(self.source.error(place(window), problem));
                }
                settings.initial_window = Packets::new(*window.as_ref());
            }
            if let Some(rto) = &table.rto {
                settings.floor = parse_floor(rto.as_ref())
                    .map_err(|problem| self.source.error(place(rto), problem))?;
            }
            if let Some(window) = &table.receive_window {
                if *window.as_ref() == Packets::ZERO {
                    let problem = "a receive window of zero takes nothing: give 1 packet or more";
                    return Err(self.source.error(place(window), problem));
                }
                settings.receive_window = Some(*window.as_ref());
            }
            if let Some(tick) = &table.timestamps {
                if tick.as_ref().is_zero() {
                    let problem = "a clock without a tick stands still: give one such as \"1 ms\"";
                    return Err(self.source.error(place(tick), problem));
                }
                settings.timestamps = Some(*tick.as_ref());
            }
            settings.tail_loss_probe = table.tail_loss_probe.unwrap_or(settings.tail_loss_probe);
            settings.handshake = table.handshake.unwrap_or(settings.handshake);
            settings.ecn = table.ecn.unwrap_or(settings.ecn);
            settings.persistent = table.persistent.unwrap_or(settings.persistent);
            if let Some(restart) = &table.idle_restart {
                settings.idle_restart = self.idle_restart(restart)?;
            }
            settings.eifel = table.eifel.unwrap_or(settings.eifel);
            settings.window_validation =
                table.window_validation.unwrap_or(settings.window_validation);
            if let Some(delayed) = table.delayed_acks {
                settings.delayed_acks = delayed.then(DelayedAcks::default);
            }
        }
        Ok(settings)
    }

    fn idle_restart(&self, name: &Spanned<String>) -> Result<IdleRestart, FileError> {
        match name.as_ref().as_str() {
            "none" => Ok(IdleRestart::None),
            "rfc5681" => Ok(IdleRestart::Rfc5681),
            "rfc2861" => Ok(IdleRestart::Rfc2861),
            other => {
                let suggestion = suggest(other, &["none", "rfc5681", "rfc2861"]);
                let problem = format!("there is no idle restart \"{other}\": {suggestion}");
                Err(self.source.error(place(name), problem))
            }
        }
    }

    /// The settings of a Sprout host.
    pub(super) fn sprout(&self, own: &SproutTable) -> Result<exm_sprout::Settings, FileError> {
        let mut settings = exm_sprout::Settings::default();
        let Method::Bayes { mut model, mut risk } = settings.method else { return Ok(settings) };
        for table in [&self.sprout, own] {
            if let Some(value) = &table.model {
                (model, settings.queueing) = self.model(value)?;
            }
            if let Some(value) = &table.risk {
                risk = self.within("risk", value, *value.as_ref(), &RISKS)?;
            }
            if let Some(value) = &table.sigma {
                model.sigma = self.within("sigma", value, *value.as_ref(), &SIGMAS)?;
            }
            if let Some(value) = &table.outage {
                let secs = value.as_ref().as_secs_f64();
                model.escape = 1.0 / self.within("outage", value, secs, &OUTAGES)?;
            }
            if let Some(value) = &table.idleness {
                model.idleness = self.within("idleness", value, *value.as_ref(), &(0.0..=1.0))?;
            }
            model.learns = table.learns.unwrap_or(model.learns);
            if let Some(value) = &table.lookahead {
                let ticks = *value.as_ref() as f64;
                let most = HORIZON as f64;
                settings.lookahead =
                    self.within("lookahead", value, ticks, &(1.0..=most))? as usize;
            }
            if let Some(value) = &table.queueing {
                let (queueing, most) = (*value.as_ref(), TICK * HORIZON as u64);
                if queueing > most {
                    let problem = format!(
                        "a queueing of {queueing} is beyond the forecast: give at most {most}"
                    );
                    return Err(self.source.error(place(value), problem));
                }
                settings.queueing = queueing;
            }
        }
        settings.method = Method::Bayes { model, risk };
        Ok(settings)
    }

    /// The link model, and its default queueing allowance.
    fn model(&self, name: &Spanned<String>) -> Result<(Model, Span), FileError> {
        match name.as_ref().as_str() {
            "default" => Ok((Model::default(), exm_sprout::Settings::default().queueing)),
            "paper" => Ok((Model::PAPER, Span::ZERO)),
            other => {
                let suggestion = suggest(other, &["default", "paper"]);
                let problem = format!("there is no model \"{other}\" of Sprout: {suggestion}");
                Err(self.source.error(place(name), problem))
            }
        }
    }

    /// `number`, which stands at `value`, if it is in `range`.
    fn within<T>(
        &self,
        key: &str,
        value: &Spanned<T>,
        number: f64,
        range: &RangeInclusive<f64>,
    ) -> Result<f64, FileError> {
        if range.contains(&number) {
            return Ok(number);
        }
        let (low, high) = (range.start(), range.end());
        let problem = format!("a {key} of {number} is impossible: give {low} to {high}");
        Err(self.source.error(place(value), problem))
    }
}
