//! Evaluation and compilation against the crate `cel` on the same predicates: nanoseconds, ratio and allocations, one run.
//!
//! Each figure is the smallest mean of 40 batches, so that other work on the machine disturbs little. `cargo bench -p usher-cel --bench
//! evaluate`.

use std::hint::black_box;
use std::time::Instant;

use usher_cel::document::{self, Options, Scanner};
use usher_cel::eval::Activation;
use usher_cel::{Arena, Env, EvalResult, Meter, Value};

const CASES: &[(&str, &str)] = &[
    ("label", "object.metadata.labels['env'] != null"),
    (
        "containers.all",
        "object.spec.containers.all(c, !has(c.securityContext) || !has(c.securityContext.privileged) || c.securityContext.privileged == false)",
    ),
    (
        "image prefix",
        "object.spec.containers.all(c, c.image.startsWith('registry.example.com/') || c.image.startsWith('mirror.example.com/')) && has(object.metadata.labels) && 'team' in object.metadata.labels",
    ),
];

const BATCHES: u32 = 40;
const ROUNDS: u32 = 2_000;

fn main() {
    // `evaluate --instructions CASE`: nothing but that case, for a tool that counts instructions.
    let args: Vec<String> = std::env::args().collect();
    if let Some(at) = args.iter().position(|arg| arg == "--instructions") {
        only(args.get(at + 1).expect("the name of a case follows"));
        return;
    }
    println!(
        "{:<16} {:>12} {:>12} {:>7} {:>12} {:>12} {:>7} {:>6}",
        "case", "eval ns", "cel ns", "ratio", "compile ns", "cel ns", "ratio", "allocs"
    );
    let pod = pod();
    for (name, predicate) in CASES {
        let ours = Ours::new(predicate, &pod);
        let theirs = Theirs::new(predicate, &pod);
        assert_eq!(ours.run(), theirs.run(), "both engines answer `{predicate}` the same");
        let allocations = allocation_counter::measure(|| {
            black_box(ours.run());
        });
        let (our_time, their_time) = (time(ROUNDS, || ours.run()), time(ROUNDS / 10, || theirs.run()));
        let our_compile = time(ROUNDS / 10, || env().compile(predicate).is_ok());
        let their_compile = time(ROUNDS / 10, || cel::Program::compile(predicate).is_ok());
        println!(
            "{name:<16} {our_time:>12.1} {their_time:>12.1} {:>6.1}x {our_compile:>12.0} {their_compile:>12.0} {:>6.1}x {:>6}",
            their_time / our_time,
            their_compile / our_compile,
            allocations.count_total,
        );
    }
    let parse = time(ROUNDS / 10, || {
        let arena = Arena::default();
        document::parse(&pod, &arena, Options::default()).is_ok()
    });
    let skip = time(ROUNDS / 10, || Scanner::new(&pod).skip().is_ok());
    println!("the object, {} bytes: check {skip:.0} ns, parse {parse:.0} ns", pod.len());
}

fn only(name: &str) {
    let pod = pod();
    let repeat = |run: &dyn Fn() -> bool| (0..ROUNDS).for_each(|_| assert!(black_box(run())));
    match name {
        "check" => repeat(&|| Scanner::new(&pod).skip().is_ok()),
        "parse" => repeat(&|| document::parse(&pod, &Arena::default(), Options::default()).is_ok()),
        _ => {
            let (_, predicate) = CASES.iter().find(|(case, _)| *case == name).expect("a case of that name");
            let ours = Ours::new(predicate, &pod);
            repeat(&|| ours.run());
        }
    }
}

fn time(rounds: u32, mut run: impl FnMut() -> bool) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..BATCHES {
        let start = Instant::now();
        for _ in 0..rounds {
            black_box(run());
        }
        best = best.min(start.elapsed().as_nanos() as f64 / f64::from(rounds));
    }
    best
}

struct Ours {
    program: usher_cel::Program,
    value: Value<'static>,
    arena: &'static Arena,
}

fn env() -> Env {
    let mut env = Env::new();
    env.declare("object");
    env
}

impl Ours {
    fn new(predicate: &str, pod: &str) -> Self {
        // Leaked: the bench holds each for its whole life.
        let arena: &'static Arena = Box::leak(Box::default());
        let pod: &'static str = Box::leak(pod.into());
        let value = document::parse(pod, arena, Options::default()).expect("the Pod is JSON");
        Self { program: env().compile(predicate).expect("it compiles"), value, arena }
    }

    fn run(&self) -> bool {
        let mut meter = Meter::new(1_000_000);
        matches!(self.program.evaluate(&Object(self.value), self.arena, &mut meter), Ok(Value::Bool(true)))
    }
}

struct Object<'a>(Value<'a>);

impl<'a> Activation<'a> for Object<'a> {
    fn variable(&self, _slot: u32, _meter: &mut Meter<'_>) -> EvalResult<'a> {
        Ok(self.0)
    }
}

struct Theirs {
    program: cel::Program,
    context: cel::Context<'static, 'static>,
}

impl Theirs {
    fn new(predicate: &str, pod: &str) -> Self {
        let json: serde_json::Value = serde_json::from_str(pod).expect("the Pod is JSON");
        let mut context = cel::Context::default();
        context.add_variable("object", json).expect("a variable");
        Self { program: cel::Program::compile(predicate).expect("it compiles"), context }
    }

    fn run(&self) -> bool {
        matches!(self.program.execute(&self.context), Ok(cel::Value::Bool(true)))
    }
}

/// A Pod of six containers, about 13 KB with its managed fields.
fn pod() -> String {
    let containers: Vec<String> = (0..6)
        .map(|i| {
            format!(
                r#"{{"name":"c{i}","image":"registry.example.com/team/app-{i}:1.2.{i}","imagePullPolicy":"IfNotPresent","args":["--port=80{i}0","--log=json"],"env":[{{"name":"A","value":"1"}},{{"name":"B","value":"2"}}],"ports":[{{"containerPort":80{i}0,"protocol":"TCP"}}],"resources":{{"limits":{{"cpu":"500m","memory":"256Mi"}},"requests":{{"cpu":"100m","memory":"128Mi"}}}},"securityContext":{{"allowPrivilegeEscalation":false,"privileged":false,"readOnlyRootFilesystem":true,"runAsNonRoot":true}}}}"#
            )
        })
        .collect();
    let managed: Vec<String> = (0..40)
        .map(|i| format!(r#""f:field-{i}":{{"f:nested":{{}},".":{{}},"f:another-{i}":{{}}}}"#))
        .collect();
    format!(
        r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"web","namespace":"shop","labels":{{"app":"web","env":"production","team":"shop"}},"managedFields":[{{"manager":"kubectl","operation":"Apply","fieldsV1":{{{}}}}}]}},"spec":{{"serviceAccountName":"web","containers":[{}]}}}}"#,
        managed.join(","),
        containers.join(",")
    )
}
