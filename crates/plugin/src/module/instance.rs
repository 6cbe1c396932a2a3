//! [`Instance`]: a module with memory of its own, which is called for events.

use super::prepare::global_name;
use super::{Compiled, ModuleError, SETTER};
use crate::abi::{self, BLOCK, Block, ENTRY, offset};
use crate::decide;
use exm_cc::{Ack, Congestion, Decision, Needs, Sent, Start};
use exm_units::{Bytes, Instant};
use wasmi::{
    Global, Linker, Memory, Store, StoreLimits, StoreLimitsBuilder, TrapCode, TypedFunc, Val,
};

type Function = TypedFunc<(), ()>;

/// An instance of a module. An error is what happened, in words that continue the name of the function.
pub(crate) struct Instance {
    store: Store<StoreLimits>,
    exports: wasmi::Instance,
    memory: Memory,
    /// The address of the block.
    block: usize,
    globals: Vec<Global>,
    on_start: Function,
    on_ack: Function,
    on_congestion: Function,
    on_tick: Function,
    on_sent: Option<Function>,
    on_mtu: Option<Function>,
    instructions_per_event: u64,
    /// Instructions that it may still execute.
    instructions_left: u64,
}

impl Instance {
    /// A new instance with these `parameters`, and the `seed` of its random choices.
    pub(crate) fn new(
        compiled: &Compiled,
        parameters: &[(String, f64)],
        seed: u64,
    ) -> Result<Instance, ModuleError> {
        let mut instance = Instance::raw(compiled)?;
        let failed = |function: &str, error: &wasmi::Error, limit: u64| {
            let what = description(error, limit);
            ModuleError::Failed(format!("{function} {what}"))
        };
        let limit = instance.instructions_per_event;
        let entry = instance.exports.get_typed_func::<(), u32>(&instance.store, ENTRY);
        let missing = |_| ModuleError::Missing(format!("function {ENTRY} that returns an address"));
        let entry = entry.map_err(missing)?;
        instance.refuel();
        let address =
            entry.call(&mut instance.store, ()).map_err(|error| failed(ENTRY, &error, limit))?;
        instance.spend();
        instance.block = address as usize;
        let memory = instance.memory.data_size(&instance.store);
        if memory.checked_sub(BLOCK).is_none_or(|last| last < instance.block) {
            return Err(ModuleError::Outside { address, memory });
        }
        for (name, value) in parameters {
            let name = format!("{SETTER}{name}");
            let setter = instance.exports.get_typed_func::<f64, ()>(&instance.store, &name);
            let missing = |_| ModuleError::Missing(format!("function {name} of a 64-bit float"));
            let setter = setter.map_err(missing)?;
            instance.refuel();
            let result = setter.call(&mut instance.store, *value);
            result.map_err(|error| failed(&name, &error, limit))?;
            instance.spend();
        }
        instance.needs()?;
        instance.block().seed(seed);
        Ok(instance)
    }

    /// An instance of which nothing but a start function was called.
    fn raw(compiled: &Compiled) -> Result<Instance, ModuleError> {
        let limits = &compiled.limits;
        let builder = StoreLimitsBuilder::new().memory_size(limits.memory).table_elements(10_000);
        let mut store = Store::new(&compiled.engine, builder.instances(1).build());
        store.limiter(|limits| limits);
        let fuel = limits.instructions_per_event.min(limits.instructions_in_all);
        store.set_fuel(fuel).expect("fuel is consumed");
        let linker = Linker::<StoreLimits>::new(&compiled.engine);
        let exports =
            linker.instantiate_and_start(&mut store, &compiled.module).map_err(|error| {
                let what = description(&error, fuel);
                ModuleError::Failed(format!("its start {what}"))
            })?;
        let missing = |name: &str| ModuleError::Missing(name.to_owned());
        let memory = exports.get_memory(&store, "memory").ok_or_else(|| missing("memory"))?;
        let function = |name: &str| {
            let function = exports.get_typed_func(&store, name);
            function
                .map_err(|_| missing(&format!("function {name} without parameters and results")))
        };
        let optional = |name: &str| match exports.get_func(&store, name) {
            Some(_) => function(name).map(Some),
            None => Ok(None),
        };
        let global = |&index: &u32| {
            let name = global_name(index);
            exports.get_global(&store, &name).ok_or_else(|| missing(&name))
        };
        let globals = compiled.globals.iter().map(global).collect::<Result<_, _>>()?;
        let left = limits.instructions_in_all - (fuel - store.get_fuel().unwrap_or_default());
        Ok(Instance {
            exports,
            memory,
            block: 0,
            globals,
            on_start: function("on_start")?,
            on_ack: function("on_ack")?,
            on_congestion: function("on_congestion")?,
            on_tick: function("on_tick")?,
            on_sent: optional("on_sent")?,
            on_mtu: optional("on_mtu")?,
            instructions_per_event: limits.instructions_per_event,
            instructions_left: left,
            store,
        })
    }

    /// A copy of its whole state: memory, variables and what it may still execute.
    pub(crate) fn copy(&self, compiled: &Compiled) -> Result<Instance, ModuleError> {
        let mut copy = Instance::raw(compiled)?;
        let (from, to) = (self.memory.size(&self.store), copy.memory.size(&copy.store));
        let failed = |what: &dyn std::fmt::Display| {
            ModuleError::Failed(format!("it cannot be copied: {what}"))
        };
        if from > to {
            copy.memory.grow(&mut copy.store, from - to).map_err(|error| failed(&error))?;
        }
        copy.memory.data_mut(&mut copy.store).copy_from_slice(self.memory.data(&self.store));
        for (from, to) in self.globals.iter().zip(&copy.globals) {
            let value: Val = from.get(&self.store);
            to.set(&mut copy.store, value).map_err(|error| failed(&error))?;
        }
        copy.block = self.block;
        copy.instructions_left = self.instructions_left;
        Ok(copy)
    }

    /// What it asks of its host.
    pub(crate) fn needs(&self) -> Result<Needs, ModuleError> {
        let data = &self.memory.data(&self.store)[self.block..self.block + BLOCK];
        let mut block: [u8; BLOCK] = data.try_into().expect("checked at the start");
        let bits = Block(&mut block).get_small(offset::NEEDS);
        abi::needs(bits).ok_or(ModuleError::Needs(bits))
    }

    pub(crate) fn start(&mut self, start: &Start) -> Result<Decision, String> {
        self.block().start(start);
        self.call(self.on_start, "on_start")
    }

    #[inline]
    pub(crate) fn ack(&mut self, ack: &Ack) -> Result<Decision, String> {
        self.block().ack(ack);
        self.call(self.on_ack, "on_ack")
    }

    pub(crate) fn congestion(&mut self, congestion: &Congestion) -> Result<Decision, String> {
        self.block().congestion(congestion);
        self.call(self.on_congestion, "on_congestion")
    }

    pub(crate) fn tick(&mut self, now: Instant) -> Result<Decision, String> {
        self.block().tick(now);
        self.call(self.on_tick, "on_tick")
    }

    /// None if it has no such function.
    pub(crate) fn sent(&mut self, sent: &Sent) -> Option<Result<Decision, String>> {
        let on_sent = self.on_sent?;
        self.block().sent(sent);
        Some(self.call(on_sent, "on_sent"))
    }

    pub(crate) fn mtu(&mut self, mtu: Bytes) -> Result<(), String> {
        self.block().mtu(mtu);
        match self.on_mtu {
            Some(on_mtu) => self.call(on_mtu, "on_mtu").map(drop),
            None => Ok(()),
        }
    }

    #[inline]
    fn block(&mut self) -> Block<'_> {
        let data = &mut self.memory.data_mut(&mut self.store)[self.block..self.block + BLOCK];
        Block(data.try_into().expect("checked at the start; memory never shrinks"))
    }

    #[inline]
    fn call(&mut self, function: Function, name: &str) -> Result<Decision, String> {
        let limit = self.refuel();
        if let Err(error) = function.call(&mut self.store, ()) {
            return Err(format!("{name} {}", description(&error, limit)));
        }
        self.spend();
        let block = self.block();
        let [cwnd, intersend, wake_at] =
            [offset::CWND, offset::INTERSEND, offset::WAKE_AT].map(|offset| block.get(offset));
        decide::decision(cwnd, intersend, wake_at).map_err(|what| format!("{name} {what}"))
    }

    /// Grants the instructions of one event, and returns how many they are.
    #[inline]
    fn refuel(&mut self) -> u64 {
        let limit = self.instructions_per_event.min(self.instructions_left);
        self.store.set_fuel(limit).expect("fuel is consumed");
        limit
    }

    /// Counts what was executed since [`Instance::refuel`].
    #[inline]
    fn spend(&mut self) {
        let granted = self.instructions_per_event.min(self.instructions_left);
        let left = self.store.get_fuel().expect("fuel is consumed");
        self.instructions_left -= granted - left;
    }
}

/// What happened when a function of a module was called with this many instructions to execute.
fn description(error: &wasmi::Error, limit: u64) -> String {
    match error.as_trap_code() {
        Some(TrapCode::OutOfFuel) => {
            format!("did not end within {limit} instructions: is it an endless loop?")
        }
        Some(TrapCode::UnreachableCodeReached) => "gave up: an assertion in it failed".to_owned(),
        Some(TrapCode::MemoryOutOfBounds) => "read or wrote outside its memory".to_owned(),
        Some(TrapCode::StackOverflow) => "called itself too deeply".to_owned(),
        Some(TrapCode::IntegerDivisionByZero) => "divided a whole number by zero".to_owned(),
        Some(TrapCode::IntegerOverflow) => "computed a whole number that is too large".to_owned(),
        Some(TrapCode::BadConversionToInteger) => {
            "turned a number that is infinite, too large or none into a whole number".to_owned()
        }
        _ => format!("failed: {error}"),
    }
}
