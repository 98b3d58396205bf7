//! The recipe of the image keeps the rules that a linter of such recipes has, as far as they matter here, and fits the manifests.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::rendering::{deploy, kustomize};

/// A recipe: the instructions, continuation lines joined, without comments.
#[derive(Debug)]
struct Recipe(Vec<(String, String)>);

impl Recipe {
    fn parse(text: &str) -> Self {
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        let mut joined = vec![String::new()];
        for line in lines {
            let last = joined.last_mut().unwrap();
            match line.strip_suffix('\\') {
                Some(part) => last.push_str(part),
                None => {
                    last.push_str(line);
                    joined.push(String::new());
                }
            }
        }
        let instruction = |line: String| {
            let (name, rest) = line.split_once(' ').unwrap_or((&line, ""));
            (name.to_uppercase(), rest.trim().to_owned())
        };
        Self(joined.into_iter().filter(|line| !line.is_empty()).map(instruction).collect())
    }

    fn all<'r>(&'r self, name: &'r str) -> impl Iterator<Item = &'r str> {
        self.0.iter().filter(move |(known, _)| known == name).map(|(_, rest)| rest.as_str())
    }

    /// The instructions of the stage that becomes the image.
    fn last_stage(&self) -> Self {
        let start = self.0.iter().rposition(|(name, _)| name == "FROM").unwrap();
        Self(self.0[start..].to_vec())
    }

    /// Images that are built upon, with the defaults of arguments in their places, and the name of the stage.
    fn bases(&self) -> Vec<(String, Option<&str>)> {
        let arguments: BTreeMap<&str, &str> =
            self.all("ARG").filter_map(|rest| rest.split_once('=')).collect();
        self.all("FROM")
            .map(|rest| {
                let (image, stage) = match rest.split_once(" AS ") {
                    Some((image, stage)) => (image, Some(stage)),
                    None => (rest, None),
                };
                let argument = image.strip_prefix("${").and_then(|image| image.strip_suffix('}'));
                let image = argument.map_or(image, |name| arguments.get(name).copied().unwrap_or(""));
                (image.to_owned(), stage)
            })
            .collect()
    }

    /// What is wrong with it.
    fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        let mut fault = |text: String| faults.push(text);
        let mut stages: Vec<&str> = Vec::new();
        for (image, stage) in self.bases() {
            if image != "scratch" && !stages.contains(&image.as_str()) {
                let (host, name) = image.split_once('/').unwrap_or(("", &image));
                if host.contains(['.', ':']) || host == "localhost" {
                    fault(format!("{image}: names a registry, which is for whoever builds to choose"));
                }
                let version = name.split_once([':', '@']).unwrap_or_default().1;
                if version.is_empty()
                    || version.starts_with("latest")
                    || !version.contains(|c: char| c.is_ascii_digit())
                {
                    fault(format!("{image:?}: is not pinned"));
                }
            }
            stages.extend(stage);
        }
        for rest in self.all("ADD") {
            fault(format!("ADD {rest}: COPY does not fetch or unpack"));
        }
        for rest in self.all("COPY") {
            let from = rest.strip_prefix("--from=").and_then(|rest| rest.split(' ').next());
            if from.is_some_and(|from| !stages.contains(&from)) {
                fault(format!("COPY {rest}: no stage has that name"));
            }
        }
        for rest in self.all("WORKDIR").filter(|rest| !rest.starts_with('/')) {
            fault(format!("WORKDIR {rest}: is not absolute"));
        }
        for name in ["ENTRYPOINT", "CMD"] {
            for rest in self.all(name).filter(|rest| serde_json::from_str::<Vec<String>>(rest).is_err()) {
                fault(format!("{name} {rest}: a shell would stand between the signals and the server"));
            }
        }
        for rest in self.all("RUN") {
            for (bad, why) in [
                ("sudo", "is root already"),
                ("curl", "fetches what nothing checks"),
                ("wget", "fetches what nothing checks"),
                ("apk upgrade", "makes another image each time"),
            ] {
                if rest.split([' ', ';', '&', '|']).collect::<Vec<_>>().join(" ").contains(bad) {
                    fault(format!("RUN {rest}: {bad} {why}"));
                }
            }
            if rest.contains("apk add") && !rest.contains("--no-cache") {
                fault(format!("RUN {rest}: keeps the package index"));
            }
            if rest.contains("cargo build") && !rest.contains("--locked") {
                fault(format!("RUN {rest}: takes other versions than were tested"));
            }
        }
        for name in ["ARG", "ENV"] {
            for rest in self.all(name) {
                let text = rest.to_lowercase();
                if ["secret", "token", "password", "key"].iter().any(|word| text.contains(word)) {
                    fault(format!("{name} {rest}: stays readable in the image"));
                }
            }
        }
        let last = self.last_stage();
        let user = last.all("USER").last().unwrap_or_default();
        let is_number = |id: &str| id.parse::<u32>().is_ok_and(|id| id > 0);
        if !user.split_once(':').is_some_and(|(user, group)| is_number(user) && is_number(group)) {
            fault(format!("USER {user:?}: kubelets see only of numbers that they are not root"));
        }
        if last.all("ENTRYPOINT").count() != 1 {
            fault("the image has not one ENTRYPOINT".to_owned());
        }
        faults
    }
}

fn shipped() -> Recipe {
    Recipe::parse(&std::fs::read_to_string(deploy().join("Containerfile")).unwrap())
}

#[test]
fn the_recipe_of_the_image_keeps_the_rules() {
    assert_eq!(shipped().faults(), Vec::<String>::new());
}

#[test]
fn a_recipe_that_breaks_a_rule_is_found() {
    let good = std::fs::read_to_string(deploy().join("Containerfile")).unwrap();
    for (from, to, told) in [
        ("USER 65532:65532\n", "", "USER \"\""),
        ("USER 65532:65532", "USER nobody", "USER \"nobody\""),
        ("USER 65532:65532", "USER 0:65532", "USER \"0:65532\""),
        ("BUILDER=rust:1.95-alpine", "BUILDER=rust", "is not pinned"),
        ("BUILDER=rust:1.95-alpine", "BUILDER=rust:latest", "is not pinned"),
        ("BUILDER=rust:1.95-alpine", "BUILDER=registry.example.com/rust:1.95", "names a registry"),
        ("COPY src src", "ADD src src", "ADD src src"),
        ("--from=build", "--from=bild", "no stage has that name"),
        ("WORKDIR /src", "WORKDIR src", "is not absolute"),
        (
            "ENTRYPOINT [\"/usr/local/bin/usher\"]",
            "ENTRYPOINT /usr/local/bin/usher",
            "a shell would stand between",
        ),
        ("ENTRYPOINT [\"/usr/local/bin/usher\"]", "", "not one ENTRYPOINT"),
        ("--no-cache ", "", "keeps the package index"),
        ("--locked ", "", "takes other versions"),
        ("RUN apk add", "RUN curl -s x | sh && apk add", "fetches what nothing checks"),
        ("WORKDIR /src", "WORKDIR /src\nENV API_TOKEN=x", "stays readable"),
    ] {
        let broken = good.replacen(from, to, if from == "BUILDER=rust:1.95-alpine" { 2 } else { 1 });
        assert_ne!(broken, good, "{from}");
        let faults = Recipe::parse(&broken).faults();
        assert!(faults.len() == 1 && faults[0].contains(told), "{to}: {faults:?}");
    }
}

#[test]
fn the_image_fits_the_manifests() {
    let recipe = shipped().last_stage();
    let pod = kustomize(&[])["Deployment/usher"].pointer("/spec/template/spec").unwrap().clone();
    let [user, group] = ["runAsUser", "runAsGroup"].map(|key| pod["securityContext"][key].clone());
    assert_eq!(recipe.all("USER").collect::<Vec<_>>(), [format!("{user}:{group}")]);
    let ports = pod["containers"][0]["ports"].as_array().unwrap();
    let ports: Vec<String> = ports.iter().map(|port| port["containerPort"].to_string()).collect();
    assert_eq!(recipe.all("EXPOSE").collect::<Vec<_>>(), [ports.join(" ")]);
    assert_eq!(recipe.bases(), [("scratch".to_owned(), None)]);
    let [entry]: [String; 1] = serde_json::from_str(recipe.all("ENTRYPOINT").next().unwrap()).unwrap();
    assert!(recipe.all("COPY").any(|rest| rest.ends_with(&entry)), "{entry} is not in the image");
    assert!(pod["containers"][0]["command"].is_null(), "the entry point is the image's");
}

#[test]
fn the_builder_is_the_compiler_that_is_tested_with() {
    let manifest = std::fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let version = manifest.lines().find_map(|line| line.strip_prefix("rust-version = ")).unwrap();
    let tag = format!("rust:{}-alpine", version.trim_matches('"'));
    assert_eq!(shipped().bases()[0].0, tag);
}

/// Cargo finds every target of the manifest in what the recipe copies, and none of it is kept out of the build.
#[test]
fn what_is_copied_is_enough_for_cargo() {
    let ignored = std::fs::read_to_string(root().join(".dockerignore")).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let recipe = shipped();
    let mut copied = 0;
    for rest in recipe.all("COPY").filter(|rest| !rest.starts_with("--from=")) {
        let mut words: Vec<&str> = rest.split(' ').collect();
        words.pop();
        for word in words {
            assert!(
                ignored.lines().any(|line| line == format!("!{word}")),
                "{word} is kept out of the build"
            );
            copy(&root().join(word), &directory.path().join(word));
            copied += 1;
        }
    }
    assert!(copied > 4, "{copied}");
    let cargo = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--locked", "--offline", "--format-version=1"])
        .current_dir(directory.path())
        .output()
        .unwrap();
    assert!(cargo.status.success(), "{}", String::from_utf8_lossy(&cargo.stderr));
    let metadata: Value = serde_json::from_slice(&cargo.stdout).unwrap();
    let targets = metadata["packages"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|package| package["targets"].as_array().unwrap());
    assert!(targets.into_iter().any(|target| target["name"] == "usher" && target["kind"][0] == "bin"));
}

fn copy(from: &Path, to: &Path) {
    if from.is_file() {
        std::fs::copy(from, to).unwrap();
        return;
    }
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        copy(&entry.path(), &to.join(entry.file_name()));
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}
