//! Any text: parsed, compiled and evaluated within its budgets, or refused; never a panic, an overflow of the stack or of memory.
#![no_main]

use libfuzzer_sys::fuzz_target;
use usher_cel::document::{self, Options};
use usher_cel::eval::Activation;
use usher_cel::{Arena, Env, EvalResult, Meter, Value};

const OBJECT: &str = r#"{"metadata":{"name":"web","labels":{"env":"prod"}},"spec":{"replicas":3,"args":["a","b"],"containers":[{"name":"a","image":"nginx:1"}]}}"#;
const MEMORY_LIMIT: usize = 4 << 20;
const COST_LIMIT: u64 = 100_000;

struct Object<'a>(Value<'a>);

impl<'a> Activation<'a> for Object<'a> {
    fn variable(&self, _slot: u32, _meter: &mut Meter<'_>) -> EvalResult<'a> {
        Ok(self.0)
    }
}

fuzz_target!(|text: &str| {
    let mut env = Env::new().with_mutation_types();
    env.declare("object");
    let Ok(program) = env.compile(text) else { return };
    let arena = Arena::with_limit(MEMORY_LIMIT);
    let Ok(object) = document::parse(OBJECT, &arena, Options::default()) else { return };
    let mut meter = Meter::new(COST_LIMIT);
    if let Ok(value) = program.evaluate(&Object(object), &arena, &mut meter) {
        let _ = value.to_string();
    }
    assert!(arena.allocated_bytes() <= MEMORY_LIMIT);
});
