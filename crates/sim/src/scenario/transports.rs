//! Settings of TCP and Sprout: a flow's own, else the file's, else the defaults.

use super::file::{SproutTable, TcpTable};
use super::read::{Reader, place};
use super::times::parse_floor;
use crate::builtin::{
    IDLENESS, OUTAGES, RISKS, SIGMAS, SLOW, SproutModel, SproutParameters, check, check_lookahead,
    check_queueing,
};
use crate::network::Host;
use exm_grammar::{FileError, suggest};
use exm_tcp::{AccEcn, DelayedAcks, IdleRestart, Settings};
use exm_units::Packets;
use toml::Spanned;

impl Reader<'_> {
    /// The settings of a TCP or QUIC `host`.
    pub(super) fn tcp(&self, own: &TcpTable, host: Host) -> Result<Settings, FileError> {
        let mut settings = Settings::default();
        if host == Host::Quic {
            self.refuse_settings_of_tcp(own)?;
            settings = Settings::quic();
        }
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
                settings.timestamps = Some(*tick.as_ref()).filter(|_| host != Host::Quic);
            }
            if let Some(probes) = &table.tail_loss_probe {
                settings.tail_loss_probe = *probes.as_ref();
            }
            settings.handshake = table.handshake.unwrap_or(settings.handshake);
            settings.ecn = table.ecn.unwrap_or(settings.ecn);
            if let Some(accecn) = &table.accecn {
                settings.accecn = self.accecn(accecn)?;
            }
            settings.persistent = table.persistent.unwrap_or(settings.persistent);
            if let Some(restart) = &table.idle_restart {
                settings.idle_restart = self.idle_restart(restart)?;
            }
            if let Some(eifel) = &table.eifel {
                settings.eifel = *eifel.as_ref();
            }
            settings.window_validation =
                table.window_validation.unwrap_or(settings.window_validation);
            if let Some(delayed) = table.delayed_acks {
                let usual = match host {
                    Host::Quic => Settings::quic().delayed_acks,
                    Host::Tcp | Host::Bare => Some(DelayedAcks::default()),
                };
                settings.delayed_acks = usual.filter(|_| delayed);
            }
        }
        Ok(settings)
    }

    /// What a flow over QUIC cannot set.
    fn refuse_settings_of_tcp(&self, own: &TcpTable) -> Result<(), FileError> {
        let given = [
            ("rto", 9002, own.rto.as_ref().map(place)),
            ("tail_loss_probe", 9002, own.tail_loss_probe.as_ref().map(place)),
            ("timestamps", 9002, own.timestamps.as_ref().map(place)),
            ("accecn", 9000, own.accecn.as_ref().map(place)),
            ("eifel", 9002, own.eifel.as_ref().map(place)),
        ];
        for (key, rfc, place) in given {
            if let Some(place) = place {
                let problem = format!(
                    "{key} is a setting of TCP, and RFC {rfc} fixes it for QUIC: take it out"
                );
                return Err(self.source.error(place, problem));
            }
        }
        Ok(())
    }

    fn accecn(&self, name: &Spanned<String>) -> Result<AccEcn, FileError> {
        self.known(
            name,
            |other| format!("there is no feedback \"{other}\" of AccECN"),
            &[
                ("option", AccEcn::Option),
                ("ace", AccEcn::Ace),
                ("ace-averaged", AccEcn::AceAveraged),
            ],
        )
    }

    fn idle_restart(&self, name: &Spanned<String>) -> Result<IdleRestart, FileError> {
        self.known(
            name,
            |other| format!("there is no idle restart \"{other}\""),
            &[
                ("none", IdleRestart::None),
                ("rfc5681", IdleRestart::Rfc5681),
                ("rfc2861", IdleRestart::Rfc2861),
            ],
        )
    }

    /// The one of `choices` that is called `name`.
    fn known<T: Copy>(
        &self,
        name: &Spanned<String>,
        unknown: impl Fn(&str) -> String,
        choices: &[(&str, T)],
    ) -> Result<T, FileError> {
        let text = name.as_ref().as_str();
        let found = choices.iter().find(|(known, _)| *known == text).map(|&(_, choice)| choice);
        found.ok_or_else(|| {
            let names: Vec<&str> = choices.iter().map(|&(known, _)| known).collect();
            let problem = format!("{}: {}", unknown(text), suggest(text, &names));
            self.source.error(place(name), problem)
        })
    }

    /// The settings of a Sprout host.
    pub(super) fn sprout(&self, own: &SproutTable) -> Result<exm_sprout::Settings, FileError> {
        let mut settings = exm_sprout::Settings::default();
        for table in [&self.sprout, own] {
            settings = self.sprout_parameters(table)?.applied_to(settings);
        }
        Ok(settings)
    }

    fn sprout_parameters(&self, table: &SproutTable) -> Result<SproutParameters, FileError> {
        Ok(SproutParameters {
            model: self.checked(&table.model, |name| SproutModel::named(name))?,
            risk: self.checked(&table.risk, |&risk| check("risk", risk, &RISKS))?,
            sigma: self.checked(&table.sigma, |&sigma| check("sigma", sigma, &SIGMAS))?,
            outage: self.checked(&table.outage, |&outage| {
                check("outage", outage.as_secs_f64(), &OUTAGES).map(|_| outage)
            })?,
            idleness: self.checked(&table.idleness, |&part| check("idleness", part, &IDLENESS))?,
            slow: self.checked(&table.slow, |&rate| check("slow", rate, &SLOW))?,
            learns: table.learns,
            lookahead: self.checked(&table.lookahead, |&ticks| check_lookahead(ticks))?,
            queueing: self.checked(&table.queueing, |&span| check_queueing(span))?,
        })
    }

    /// What `read` makes of the value, if there is one; what is wrong with it is reported at its place.
    fn checked<T, V>(
        &self,
        value: &Option<Spanned<T>>,
        read: impl FnOnce(&T) -> Result<V, String>,
    ) -> Result<Option<V>, FileError> {
        let Some(value) = value else { return Ok(None) };
        read(value.as_ref()).map(Some).map_err(|problem| self.source.error(place(value), problem))
    }
}
