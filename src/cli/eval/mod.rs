//! `usher eval`: what the rules make of a manifest or of a review, without a cluster.

mod evaluate;
mod explain;
mod input;
mod manifest;
mod report;
mod resources;
mod subject;
mod text;

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{anyhow, bail};
use clap::{Args, ValueEnum};
use serde_json::Value;

use super::Exit;
use super::cel::CelArgs;
use super::findings::{Finding, counts};
use super::load::{Rules, load};
use super::terminal::{self, Fault, count};
use crate::diagnostic::{Code, Diagnostic};
use crate::engine::{ObjectKey, Operation, Protected, RuleSet, StoredObject};
use evaluate::{Evaluated, Phases, evaluate};
use input::{Input, Inputs};
use report::{EvalResult, ResourceResult, Summary};
use resources::Resources;
use subject::Subject;
use text::PatchFormat;

/// Say what the rules make of manifests or AdmissionReviews, without a cluster.
///
/// A manifest becomes the request that an API server would send: kind and resource, the namespace `default` where none is written, CREATE.
/// An AdmissionReview is taken as it is. Namespaces and parameter objects are those that stand beside the rules.
/// Nobody is asked about rights: `authorizer` checks are evaluation errors.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Examples:\n  usher eval -f policies/ -r pod.yaml\n  usher eval -f policies/ -r pod.yaml --user alice --group dev --explain\n  \
                  kubectl get deploy -o yaml | usher eval -f policies/ -r - -o json\n\n\
                  Exit codes: 0 all allowed, 1 something denied or a rule invalid, 2 could not run."
)]
pub(super) struct EvalArgs {
    /// Rules: files, or directories with .yaml, .yml and .json files. Objects beside them serve as namespaces and parameters.
    #[arg(short = 'f', long, value_name = "PATH", required = true, num_args = 1..)]
    rules: Vec<PathBuf>,

    /// What to evaluate: files or directories with manifests or AdmissionReviews; - for standard input.
    #[arg(short, long = "resource", value_name = "PATH|-", required = true, num_args = 1..)]
    resources: Vec<PathBuf>,

    /// What the client does. Without it CREATE, or UPDATE with --old, or CONNECT for options of exec, attach and the like.
    #[arg(long, value_name = "OPERATION", value_enum, ignore_case = true)]
    operation: Option<OperationArg>,

    /// Manifest of the object before the request.
    #[arg(long, value_name = "FILE")]
    old: Option<PathBuf>,

    /// Name of the user who asks. Without it `test-user`.
    #[arg(long, value_name = "NAME")]
    user: Option<String>,

    /// Group of the user who asks; give it again for more. system:authenticated is always among them.
    #[arg(long = "group", value_name = "NAME")]
    groups: Vec<String>,

    /// Namespace of namespaced manifests that name none. Without it `default`.
    #[arg(short, long, value_name = "NAME")]
    namespace: Option<String>,

    /// Subresource of the request, such as status or scale.
    #[arg(long, value_name = "NAME")]
    subresource: Option<String>,

    /// Whether the request is a dry run.
    #[arg(long)]
    dry_run: bool,

    /// Webhook calls to evaluate.
    #[arg(long, value_name = "PHASE", default_value = "both", value_enum)]
    phase: Phases,

    /// Show each candidate rule and route in order, the value of each sub-expression, cost and time.
    #[arg(long)]
    explain: bool,

    /// How a patch is shown in text.
    #[arg(long, value_name = "FORMAT", default_value = "diff", value_enum)]
    patch: PatchFormat,

    /// How the result is written.
    #[arg(short, long, value_name = "FORMAT", default_value = "text", value_enum)]
    output: Output,

    #[command(flatten)]
    cel: CelArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Output {
    /// One block per resource.
    Text,
    /// One JSON document.
    Json,
}

/// An operation, in Kubernetes' spelling.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "UPPER")]
enum OperationArg {
    Create,
    Update,
    Delete,
    Connect,
}

impl From<OperationArg> for Operation {
    fn from(operation: OperationArg) -> Self {
        match operation {
            OperationArg::Create => Self::Create,
            OperationArg::Update => Self::Update,
            OperationArg::Delete => Self::Delete,
            OperationArg::Connect => Self::Connect,
        }
    }
}

impl EvalArgs {
    /// The flags given that say how a manifest becomes a request.
    fn flags_for_manifests(&self) -> Vec<&'static str> {
        let flags = [
            ("--operation", self.operation.is_some()),
            ("--old", self.old.is_some()),
            ("--user", self.user.is_some()),
            ("--group", !self.groups.is_empty()),
            ("--namespace", self.namespace.is_some()),
            ("--subresource", self.subresource.is_some()),
            ("--dry-run", self.dry_run),
        ];
        flags.into_iter().filter_map(|(flag, is_given)| is_given.then_some(flag)).collect()
    }
}

pub(super) fn run(args: EvalArgs) -> anyhow::Result<Exit> {
    let prepared = match Prepared::new(&args) {
        Ok(prepared) => prepared,
        Err(error) => {
            if args.output == Output::Json {
                let errors = vec![Finding::of_error(&error)];
                terminal::json(&EvalResult::new(Summary::default(), Vec::new(), &[], errors))?;
            }
            return Err(error);
        }
    };
    prepared.evaluate(&args)
}

/// Everything that was read.
struct Prepared {
    rules: Arc<RuleSet>,
    /// Of the rules.
    diagnostics: Vec<Diagnostic>,
    subjects: Vec<Subject>,
    /// Of the resources.
    faults: Vec<Diagnostic>,
}

impl Prepared {
    fn new(args: &EvalArgs) -> anyhow::Result<Self> {
        if args.old.is_some()
            && let Some(operation @ (OperationArg::Create | OperationArg::Connect)) = args.operation
        {
            let operation = Operation::from(operation).as_str();
            bail!(
                "--old: {operation} has no object before the request; leave --old out, or ask for UPDATE or DELETE"
            );
        }
        let mut rules = load(&args.rules, Some("--rules"), Protected::default(), args.cel.version)?;
        let Inputs { inputs, mut faults } = Inputs::read(&args.resources, "--resource");
        if inputs.is_empty() && faults.is_empty() {
            let names: Vec<_> = args.resources.iter().map(|path| path.display().to_string()).collect();
            bail!(
                "--resource: no resources found in {}: give it a manifest, an AdmissionReview, or a directory with .yaml, .yml or .json files",
                names.join(", ")
            );
        }
        let old = args.old.as_ref().map(old_object).transpose()?;
        let resources = learn(&mut rules, &inputs);
        let mut subjects = Vec::new();
        for input in &inputs {
            match Subject::new(input, old.as_ref(), args, &resources) {
                Ok(subject) => subjects.push(subject),
                Err(fault) => faults.push(*fault),
            }
        }
        let Rules { live, diagnostics, .. } = rules;
        let rules = live.load();
        Ok(Self { rules, diagnostics, subjects, faults })
    }

    fn evaluate(&self, args: &EvalArgs) -> anyhow::Result<Exit> {
        for finding in self.diagnostics.iter().chain(&self.faults) {
            terminal::tell(format_args!("{}\n", terminal::rendered(finding)));
        }
        if self.rules.rules().is_empty() {
            let error = anyhow!("none of the rules can be used");
            if args.output == Output::Json {
                let errors = vec![Finding::of_error(&error)];
                terminal::json(&EvalResult::new(Summary::default(), Vec::new(), &self.diagnostics, errors))?;
            }
            return Err(error);
        }
        let flags = args.flags_for_manifests();
        if !flags.is_empty() && self.subjects.iter().any(Subject::is_review) {
            terminal::note(format_args!(
                "an AdmissionReview is taken as it is, without regard to {}",
                flags.join(", ")
            ));
        }
        let rules = self.rules.rules();
        let mut summary = Summary { rules: rules.len(), ..Summary::default() };
        let mut evaluated = Vec::new();
        for subject in &self.subjects {
            let Some((result, block)) = subject.with_request(|request| {
                let result = evaluate(&self.rules, request, args.phase, args.explain);
                let block = (args.output == Output::Text)
                    .then(|| text::block(subject, request, &result, args.patch, rules));
                (result, block)
            }) else {
                continue;
            };
            summary.add(&result);
            for note in subject.notes() {
                let place = subject.place();
                terminal::note(format_args!("{}:{}: {}", place.file, place.line, terminal::plain(note)));
            }
            if let Some(block) = block {
                terminal::out(&block)?;
            }
            evaluated.push((subject, result));
        }
        if args.output == Output::Json {
            let results = evaluated.iter().filter_map(|(subject, result)| {
                subject.with_request(|request| ResourceResult::new(subject, request, result))
            });
            let errors = Finding::all(&self.faults);
            terminal::json(&EvalResult::new(summary, results.collect(), &self.diagnostics, errors))?;
        }
        terminal::tell(summary.line(self.faults.len()));
        let has_invalid_rules = counts(&self.diagnostics).0 > 0;
        Ok(match (self.faults.is_empty(), summary.denied > 0 || has_invalid_rules) {
            (false, _) => Exit::Failed,
            (true, true) => Exit::Findings,
            (true, false) => Exit::Clean,
        })
    }
}

impl Summary {
    fn add(&mut self, evaluated: &Evaluated) {
        self.resources += 1;
        if evaluated.allowed() {
            self.allowed += 1;
            self.patched += usize::from(evaluated.patched.is_some());
        } else {
            self.denied += 1;
        }
    }

    fn line(&self, faults: usize) -> String {
        let Self { rules, resources, allowed, patched, denied } = self;
        let mut line =
            format!("{} against {}: {allowed} allowed", count(*resources, "resource"), count(*rules, "rule"));
        if *patched > 0 {
            line.push_str(&format!(" ({patched} patched)"));
        }
        line.push_str(&format!(", {denied} denied"));
        if faults > 0 {
            line.push_str(&format!(", {} could not be evaluated", count(faults, "input")));
        }
        line
    }
}

/// The one object of `--old`.
fn old_object(path: &PathBuf) -> anyhow::Result<Input> {
    let Inputs { mut inputs, mut faults } = Inputs::read(std::slice::from_ref(path), "--old");
    if let Some(fault) = faults.pop() {
        return Err(Fault(Box::new(fault)).into());
    }
    match (inputs.pop(), inputs.len()) {
        (Some(old), 0) if !old.is_review() => Ok(old),
        (Some(old), 0) => {
            let fault = old.error(
                Code::InvalidValue,
                "kind",
                "--old takes an object, not a review",
                "give the object before the request; a review has its own oldObject",
            );
            Err(Fault(Box::new(fault)).into())
        }
        (_, others) => bail!(
            "--old: {} must have one object, but has {}",
            path.display(),
            if others == 0 { 0 } else { others + 1 }
        ),
    }
}

/// Takes up what stands beside the rules and among the resources: kinds that are defined there, and Namespaces.
fn learn(rules: &mut Rules, inputs: &[Input]) -> Resources {
    let mut resources = Resources::default();
    for stored in rules.snapshot.store.iter() {
        if &*stored.key().kind == "CustomResourceDefinition"
            && let Ok(definition) = serde_json::from_str(stored.json())
        {
            resources.learn(&definition);
        }
    }
    for input in inputs {
        match input.text("/kind") {
            "CustomResourceDefinition" => resources.learn(&input.value),
            "Namespace" if input.text("/apiVersion") == "v1" => {
                let name = input.text("/metadata/name");
                if rules.snapshot.store.namespace(name).is_none() {
                    let key = ObjectKey {
                        api_version: "v1".into(),
                        kind: "Namespace".into(),
                        namespace: "".into(),
                        name: name.into(),
                    };
                    let labels = input.value.pointer("/metadata/labels").and_then(Value::as_object);
                    let labels = labels.into_iter().flatten();
                    let labels =
                        labels.filter_map(|(key, value)| Some((key.as_str().into(), value.as_str()?.into())));
                    let stored =
                        StoredObject { json: input.value.to_string().into(), labels: labels.collect() };
                    rules.writer.apply_object(key, stored);
                }
            }
            _ => {}
        }
    }
    rules.writer.publish();
    resources
}
