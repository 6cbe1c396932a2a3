//! Converts the tables of a file to a [`Scenario`].

use super::effects::block_errors;
use super::file::{
    DumbbellTable, File, FlowTable, LinkTable, QueueTable, SeriesTable, SproutTable, TcpTable,
    TrafficTable,
};
use super::times::{parse_on, parse_traffic, parse_visit};
use super::traces::Traces;
use super::{DEFAULT_PACKET_SIZE, FlowGroup, FlowPlaces, LinkPlaces, Places, Scenario, SeriesSpec};
use crate::active::MeasuredOver;
use crate::network::{Host, LinkSpec, MAX_FLOWS};
use crate::traffic::{OnFor, Traffic};
use exm_grammar::{Amounts, Buffer, FileError, Offset, Source, Unit, queue_error, suggest};
use exm_link::{Limit, QueueKind, Reordering, Service};
use exm_random::Distribution;
use exm_units::{Bytes, Probability, RateText, Span};
use std::path::Path;
use toml::Spanned;

/// Reads the scenario `source`; paths in it start from `dir`. Traces already in `traces` are not
/// read again.
pub(super) fn scenario(
    source: Source,
    dir: &Path,
    traces: &mut Traces,
) -> Result<Scenario, FileError> {
    let file: File = toml::from_str(&source.text).map_err(|error| source.parse_error(&error))?;
    let (links, flows) = graph(&source, file.dumbbell, file.link, file.flow)?;
    let packet_place = file.packet_size.as_ref().and_then(place);
    let packet = file.packet_size.map_or(DEFAULT_PACKET_SIZE, Spanned::into_inner);
    if packet == Bytes::ZERO {
        let problem = "packets of no size cannot be sent: give a size such as \"1500 B\"";
        return Err(source.error(packet_place, problem));
    }
    let mut reader = Reader {
        source: &source,
        dir,
        traces,
        packet,
        packet_place,
        nodes: Vec::new(),
        tcp: file.tcp,
        sprout: file.sprout,
    };
    let buffers: Vec<Buffer> = links
        .iter()
        .map(|link| link.buffer.as_ref().map_or(Buffer::Limit(Limit::Unlimited), |b| *b.as_ref()))
        .collect();
    let mut places = Places {
        duration: place(&file.duration),
        warm_up: file.warm_up.as_ref().and_then(place),
        ..Places::default()
    };
    let mut builder = Scenario::builder(file.duration.into_inner()).packet_size(packet);
    let mut specs = Vec::new();
    let count = links.len();
    for link in links {
        let (spec, link_places) = reader.link(link, &specs, count == 1)?;
        specs.push(spec);
        places.links.push(link_places);
    }
    for (index, flow) in flows.into_iter().enumerate() {
        let (group, flow_places) = reader.flow(flow, &specs, index)?;
        builder = builder.flow(group);
        places.flows.push(flow_places);
    }
    for (spec, buffer) in specs.into_iter().zip(buffers) {
        builder = builder.link(spec, buffer);
    }
    builder = builder
        .seed(file.seed.unwrap_or(1))
        .warm_up(file.warm_up.map_or(Span::ZERO, Spanned::into_inner))
        .measured_over(measured_over(&source, file.measure.throughput.as_ref())?);
    if let Some(title) = file.title {
        builder = builder.title(title);
    }
    if let Some(table) = &file.series {
        builder = builder.series(series(table));
    }
    Ok(builder.read_from(source, dir, places))
}

/// Over what time throughput is measured.
fn measured_over(
    source: &Source,
    name: Option<&Spanned<String>>,
) -> Result<MeasuredOver, FileError> {
    let Some(name) = name else { return Ok(MeasuredOver::default()) };
    let text = name.as_ref();
    MeasuredOver::named(text).ok_or_else(|| {
        let hint = suggest(text, &MeasuredOver::NAMES);
        let problem = format!("throughput cannot be measured over \"{text}\": {hint}");
        source.error(place(name), problem)
    })
}

/// The links and flows of the file, with a dumbbell expanded into them.
fn graph(
    source: &Source,
    dumbbell: Option<Spanned<DumbbellTable>>,
    links: Vec<Spanned<LinkTable>>,
    flows: Vec<Spanned<FlowTable>>,
) -> Result<(Vec<LinkTable>, Vec<FlowTable>), FileError> {
    let Some(dumbbell) = dumbbell else {
        if links.is_empty() || flows.is_empty() {
            let problem = "there is no network: give a [dumbbell], or a [[link]] and a [[flow]]";
            return Err(source.error(None, problem));
        }
        let links = links.into_iter().map(Spanned::into_inner).collect();
        return Ok((links, flows.into_iter().map(Spanned::into_inner).collect()));
    };
    let more = links.first().and_then(place).or(flows.first().and_then(place));
    if more.is_some() {
        let problem = "a [dumbbell] stands alone: write it as a [[link]] to add others, or flows";
        return Err(source.error(more, problem));
    }
    let span = dumbbell.span();
    let table = dumbbell.into_inner();
    let link = LinkTable {
        name: Spanned::new(span, "bottleneck".to_owned()),
        from: None,
        to: None,
        rate: table.rate,
        trace: table.trace,
        delay: None,
        buffer: table.buffer,
        queue: table.queue,
        loss: table.loss,
        jitter: table.jitter,
        reorder: table.reorder,
        reorder_delay: table.reorder_delay,
        aggregation: table.aggregation,
        block_errors: table.block_errors,
        schedule: table.schedule,
        slots: table.slots,
        thin_acks: table.thin_acks,
    };
    let flow = FlowTable {
        name: Some("sender".to_owned()),
        path: None,
        back: None,
        rtt: table.rtt,
        count: Some(table.senders),
        controller: table.controller,
        traffic: table.traffic,
        packet_size: None,
        host: table.host,
        tcp: table.tcp,
        sprout: table.sprout,
        duplex: None,
        foresight: None,
        timer: table.timer,
    };
    Ok((vec![link], vec![flow]))
}

pub(super) struct Reader<'a> {
    pub(super) source: &'a Source,
    dir: &'a Path,
    traces: &'a mut Traces,
    pub(super) packet: Bytes,
    packet_place: Offset,
    /// The names of the nodes, in order of appearance.
    nodes: Vec<String>,
    /// The file's settings of all TCP hosts, and of all Sprout hosts.
    pub(super) tcp: TcpTable,
    pub(super) sprout: SproutTable,
}

impl Reader<'_> {
    fn link(
        &mut self,
        table: LinkTable,
        earlier: &[LinkSpec],
        alone: bool,
    ) -> Result<(LinkSpec, LinkPlaces), FileError> {
        let name_place = place(&table.name);
        let name = table.name.into_inner();
        if earlier.iter().any(|link| link.name == name) {
            let problem = format!("there are two links \"{name}\": give each a name of its own");
            return Err(self.source.error(name_place, problem));
        }
        let ends = match (table.from, table.to) {
            (Some(from), Some(to)) => (self.node(from), self.node(to)),
            (None, None) if alone => (0, 1),
            _ => {
                let problem = format!(
                    "link \"{name}\" needs \"from\" and \"to\": name the nodes it leaves from and \
                     leads to"
                );
                return Err(self.source.error(name_place, problem));
            }
        };
        let places = LinkPlaces {
            rate: table.rate.as_ref().and_then(place).or(table.trace.as_ref().and_then(place)),
            buffer: table.buffer.as_ref().and_then(place),
            delay: table.delay.as_ref().and_then(place),
            jitter: table.jitter.as_ref().and_then(place),
            reorder_delay: table.reorder_delay.as_ref().and_then(place),
            aggregation: table.aggregation.as_ref().and_then(place),
            block_errors: table.block_errors.as_ref().and_then(place),
            schedule: table.schedule.as_ref().and_then(place),
            slots: table.slots.as_ref().and_then(place),
            thin_acks: table.thin_acks.as_ref().and_then(place),
        };
        let spec = LinkSpec {
            name,
            ends,
            service: self.service(table.rate, table.trace, name_place)?,
            queue: self.queue(table.queue.as_ref())?,
            buffer: Limit::Unlimited,
            delay: table.delay.map_or(Span::ZERO, Spanned::into_inner),
            loss: table.loss.unwrap_or_default(),
            jitter: self.jitter(table.jitter.as_ref())?,
            reordering: self.reordering(table.reorder, table.reorder_delay)?,
            aggregation: table.aggregation.map(|table| self.aggregation(table)).transpose()?,
            block_errors: table.block_errors.map(block_errors),
            timing: self.timing(table.schedule, table.slots)?,
            thinning: table.thin_acks.map(|text| self.thinning(&text)).transpose()?,
        };
        Ok((spec, places))
    }

    fn node(&mut self, name: String) -> usize {
        self.nodes.iter().position(|known| *known == name).unwrap_or_else(|| {
            self.nodes.push(name);
            self.nodes.len() - 1
        })
    }

    /// A fixed rate, or a trace.
    fn service(
        &mut self,
        rate: Option<Spanned<RateText>>,
        trace: Option<Spanned<String>>,
        link: Offset,
    ) -> Result<Service, FileError> {
        match (rate, trace) {
            (Some(rate), None) => Ok(Service::Fixed(rate.into_inner().of(self.packet))),
            (None, Some(trace)) => self
                .traces
                .named(trace.as_ref(), self.dir)
                .map(Service::Trace)
                .map_err(|problem| self.source.error(place(&trace), problem)),
            (Some(_), Some(trace)) => {
                let problem = "a link has a rate or a trace: take one of them out";
                Err(self.source.error(place(&trace), problem))
            }
            (None, None) => {
                let problem = "the key \"rate\" is missing: add it, or \"trace\"";
                Err(self.source.error(link, problem))
            }
        }
    }

    fn jitter(&self, text: Option<&Spanned<String>>) -> Result<Distribution, FileError> {
        text.map_or(Ok(LinkSpec::NO_JITTER), |text| self.times(text))
    }

    /// A distribution of times, in seconds.
    pub(super) fn times(&self, text: &Spanned<String>) -> Result<Distribution, FileError> {
        let times = match text.as_ref().parse() {
            Ok(Amounts { distribution, unit: Unit::Seconds }) => Ok(distribution),
            Ok(_) => {
                Err(format!("\"{}\" is no time: give one such as \"exp 5 ms\"", text.as_ref()))
            }
            Err(problem) => Err(problem.to_string()),
        };
        times.map_err(|problem| self.source.error(place(text), problem))
    }

    fn reordering(
        &self,
        probability: Option<Probability>,
        extra: Option<Spanned<Span>>,
    ) -> Result<Reordering, FileError> {
        match (probability, extra) {
            (None, Some(extra)) => {
                let problem = "no packets are held back: add \"reorder\", the probability of it";
                Err(self.source.error(place(&extra), problem))
            }
            (probability, extra) => Ok(Reordering {
                probability: probability.unwrap_or_default(),
                extra: extra.map_or(Reordering::DEFAULT_EXTRA, Spanned::into_inner),
            }),
        }
    }

    /// The discipline of this name, with its settings.
    fn queue(&self, table: Option<&Spanned<QueueTable>>) -> Result<QueueKind, FileError> {
        let Some(table) = table else { return Ok(QueueKind::default()) };
        let fail = |problem: String| self.source.error(place(table), problem);
        let settings = match table.as_ref() {
            QueueTable::Text(text) => {
                return exm_grammar::queue(text).map_err(|error| fail(error.into()));
            }
            QueueTable::Settings(settings) => settings,
        };
        let name = settings.get("name").and_then(toml::Value::as_str).ok_or_else(|| {
            let problem = "the queue has no name: give one, such as { name = \"codel\" }";
            fail(problem.to_owned())
        })?;
        let parameters: Vec<(&str, String)> = settings
            .iter()
            .filter(|(parameter, _)| *parameter != "name")
            .map(|(parameter, value)| {
                let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                (parameter.as_str(), text)
            })
            .collect();
        let parameters = parameters.iter().map(|(name, value)| (*name, value.as_str()));
        QueueKind::with_parameters(name, parameters)
            .map_err(|error| fail(queue_error(&error).into()))
    }

    fn flow(
        &self,
        table: FlowTable,
        links: &[LinkSpec],
        index: usize,
    ) -> Result<(FlowGroup, FlowPlaces), FileError> {
        let places = FlowPlaces {
            path: table.path.as_ref().and_then(place),
            rtt: place(&table.rtt),
            controller: place(&table.controller),
            duplex: table.duplex.as_ref().and_then(place),
            foresight: table.foresight.as_ref().and_then(place),
            packet_size: table.packet_size.as_ref().and_then(place).or(self.packet_place),
            traffic: place(&table.traffic.on),
        };
        let path = match table.path {
            None if links.len() == 1 => vec![0],
            None => {
                let problem = "the flow has no path: name the links it crosses, in order, such as \
                               path = [\"first\", \"second\"]";
                return Err(self.source.error(places.rtt, problem));
            }
            Some(path) => self.path(&path, links)?,
        };
        let back = table.back.map(|back| self.path(&back, links)).transpose()?;
        let packet_size = table.packet_size.map_or(self.packet, Spanned::into_inner);
        if packet_size == Bytes::ZERO {
            let problem = "packets of no size cannot be sent: give a size such as \"1500 B\"";
            return Err(self.source.error(places.packet_size, problem));
        }
        let host = self.host(table.host.as_ref(), table.timer.as_ref())?;
        let group = FlowGroup {
            name: table.name.unwrap_or_else(|| format!("flow {}", index + 1)),
            path,
            back: back.unwrap_or_default(),
            rtt: table.rtt.into_inner(),
            count: self.count(table.count)?,
            controller: table.controller.into_inner(),
            traffic: self.traffic(&table.traffic)?,
            packet_size,
            host,
            timer: table.timer.map(Spanned::into_inner),
            tcp: self.tcp(&table.tcp, host)?,
            sprout: self.sprout(&table.sprout)?,
            duplex: table.duplex.is_some_and(Spanned::into_inner),
            foresight: table.foresight.map(Spanned::into_inner),
        };
        Ok((group, places))
    }

    fn count(&self, count: Option<Spanned<u64>>) -> Result<usize, FileError> {
        let Some(count) = count else { return Ok(1) };
        match usize::try_from(*count.as_ref()) {
            Ok(number @ 1..=MAX_FLOWS) => Ok(number),
            _ => {
                let problem = format!(
                    "{} senders cannot be simulated: give 1 to {MAX_FLOWS}",
                    count.as_ref()
                );
                Err(self.source.error(place(&count), problem))
            }
        }
    }

    fn path(
        &self,
        path: &Spanned<Vec<Spanned<String>>>,
        links: &[LinkSpec],
    ) -> Result<Vec<usize>, FileError> {
        let names: Vec<&str> = links.iter().map(|link| link.name.as_str()).collect();
        let links = path.as_ref().iter().map(|link| {
            let name = link.as_ref().as_str();
            names.iter().position(|known| *known == name).ok_or_else(|| {
                let suggestion = suggest(name, &names);
                let problem = format!("there is no link \"{name}\": {suggestion}");
                self.source.error(place(link), problem)
            })
        });
        links.collect()
    }

    /// The host, TCP by default; only a bare one may omit its timer.
    fn host(
        &self,
        host: Option<&Spanned<String>>,
        timer: Option<&Spanned<bool>>,
    ) -> Result<Host, FileError> {
        let kind = match host {
            None => Host::default(),
            Some(name) => Host::named(name.as_ref()).ok_or_else(|| {
                let suggestion = suggest(name.as_ref(), &Host::NAMES);
                let problem = format!("there is no host \"{}\": {suggestion}", name.as_ref());
                self.source.error(place(name), problem)
            })?,
        };
        match timer {
            Some(timer) if kind != Host::Bare => {
                let problem = format!(
                    "a {kind} host always keeps its timer: take \"timer\" out, or let host be \"bare\""
                );
                Err(self.source.error(place(timer), problem))
            }
            _ => Ok(kind),
        }
    }

    fn traffic(&self, table: &TrafficTable) -> Result<Traffic, FileError> {
        let on = parse_on(table.on.as_ref(), self.dir)
            .map_err(|problem| self.source.error(place(&table.on), problem))?;
        let fail = |place, problem| Err(self.source.error(place, problem));
        if let (Some(spread), None) = (&table.spread, &table.every) {
            let problem =
                "flows do not start together: add \"every\", the time between their starts";
            return fail(place(spread), problem);
        }
        match (&table.off, &table.every, &table.at) {
            (None, Some(period), None) => return self.every(period, table.spread.as_ref(), on),
            (None, None, Some(at)) => return self.schedule(at, on),
            (_, None, None) => {}
            _ => {
                let problem = "flows start after \"off\", \"every\" so often or \"at\" set times: \
                               give one of the three";
                return fail(place(&table.on), problem);
            }
        }
        let off = table.off.as_ref().map(Spanned::as_ref).map(String::as_str);
        parse_traffic(table.on.as_ref(), off, self.dir).map_err(|error| {
            let off = table.off.as_ref().filter(|_| error.key() == "traffic.off");
            let place = off.map_or(place(&table.on), place);
            self.source.error(place, error.to_string()).with_key(error.key())
        })
    }

    fn every(
        &self,
        period: &Spanned<Span>,
        spread: Option<&Spanned<Span>>,
        on: OnFor,
    ) -> Result<Traffic, FileError> {
        let period = *period.as_ref();
        let width = spread.map_or(Span::ZERO, |spread| *spread.as_ref());
        match spread {
            Some(spread) if width >= period => {
                let problem = "starts overlap the next ones: let \"spread\" be less than \"every\"";
                Err(self.source.error(place(spread), problem))
            }
            _ => Ok(Traffic::Every { period, spread: width, on }),
        }
    }

    fn schedule(
        &self,
        at: &Spanned<Vec<Spanned<String>>>,
        on: OnFor,
    ) -> Result<Traffic, FileError> {
        let visit = |text: &Spanned<String>| {
            parse_visit(text.as_ref()).map_err(|problem| self.source.error(place(text), problem))
        };
        let visits = at.as_ref().iter().map(visit).collect::<Result<Vec<_>, _>>()?;
        Ok(Traffic::Schedule { visits, on })
    }
}

fn series(table: &SeriesTable) -> SeriesSpec {
    SeriesSpec {
        pace: table.every,
        flows: table.flows.unwrap_or(true),
        links: table.links.unwrap_or(true),
    }
}

/// Where `value` starts; none for a value that is not in a file.
pub(super) fn place<T>(value: &Spanned<T>) -> Offset {
    Some(value.span().start)
}
