//! What was known last, on disk: one JSON object a line, after a line that says what the file is.

use std::fs;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::source::change::Snapshot;
use crate::source::manifest::Document;
use crate::source::object::{Object, ObjectKey, decode};

/// Of the shape of the file; another one is not read.
const FORMAT: &str = "usher.dev/known-objects/v1";
/// Rules that are older than this may do more harm than a server that is not ready.
const MAX_AGE: Duration = Duration::from_secs(24 * 60 * 60);

#[derive(Serialize, Deserialize)]
struct Header {
    format: String,
    /// Seconds since 1970.
    written: u64,
}

/// What was read, and how old it is.
pub(super) struct Cached {
    pub(super) snapshot: Snapshot,
    pub(super) age: Duration,
}

/// Puts a new file in the place of the old one. Blocks.
pub(super) fn write(path: &Path, snapshot: &Snapshot) -> io::Result<()> {
    let new = path.with_extension("new");
    let mut file = BufWriter::new(fs::File::create(&new)?);
    let header = Header { format: FORMAT.to_owned(), written: unix_now().as_secs() };
    serde_json::to_writer(&mut file, &header)?;
    file.write_all(b"\n")?;
    for object in &snapshot.objects {
        match object {
            Object::RoutingRule(loaded) => serde_json::to_writer(&mut file, &*loaded.object)?,
            Object::ValidatingAdmissionPolicy(loaded) => serde_json::to_writer(&mut file, &*loaded.object)?,
            Object::ValidatingAdmissionPolicyBinding(loaded) => {
                serde_json::to_writer(&mut file, &*loaded.object)?;
            }
            Object::MutatingAdmissionPolicy(loaded) => serde_json::to_writer(&mut file, &*loaded.object)?,
            Object::MutatingAdmissionPolicyBinding(loaded) => {
                serde_json::to_writer(&mut file, &*loaded.object)?;
            }
            Object::Other(stored) => file.write_all(stored.json().as_bytes())?,
        }
        file.write_all(b"\n")?;
    }
    for stored in snapshot.store.iter() {
        file.write_all(stored.json().as_bytes())?;
        file.write_all(b"\n")?;
    }
    file.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
    fs::rename(&new, path)
}

/// Reads the file; `None` if there is none. Blocks.
///
/// # Errors
/// It cannot be read, is not such a file, or is too old.
pub(super) fn read(path: &Path) -> io::Result<Option<Cached>> {
    let file = match fs::File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut lines = BufReader::new(file).lines();
    let header: Header = serde_json::from_str(&lines.next().transpose()?.unwrap_or_default())?;
    if header.format != FORMAT {
        return Err(io::Error::other(format!("it is of the format {}", header.format)));
    }
    let age = unix_now().saturating_sub(Duration::from_secs(header.written));
    if age > MAX_AGE {
        return Err(io::Error::other(format!("it is {} hours old", age.as_secs() / 3600)));
    }
    let mut snapshot = Snapshot::default();
    for line in lines {
        let value: Value = serde_json::from_str(&line?)?;
        let Some(key) = key(&value) else { continue };
        match decode(Document { key, value, map: None }) {
            Ok((Object::Other(stored), _)) => drop(snapshot.store.insert(stored)),
            Ok((object, _)) => snapshot.objects.push(object),
            // It was good when it was written, so this is another version of the server, which the log will tell.
            Err(diagnostics) => snapshot.diagnostics.extend(diagnostics),
        }
    }
    Ok(Some(Cached { snapshot, age }))
}

fn key(value: &Value) -> Option<ObjectKey> {
    let text = |pointer: &str| value.pointer(pointer).and_then(Value::as_str);
    Some(ObjectKey {
        api_version: text("/apiVersion")?.into(),
        kind: text("/kind")?.into(),
        namespace: text("/metadata/namespace").unwrap_or_default().into(),
        name: text("/metadata/name")?.into(),
    })
}

fn unix_now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use crate::source::read_manifest;

    use super::*;

    #[test]
    fn what_was_written_is_read_again() {
        let text = "apiVersion: usher.dev/v1alpha1\nkind: RoutingRule\nmetadata: {name: a, generation: 3}\nspec: \
                    {routes: [{name: r, predicate: 'true', pass: {}}]}\n---\napiVersion: v1\nkind: Namespace\n\
                    metadata: {name: shop, labels: {team: a}}\n";
        let mut snapshot = Snapshot::default();
        for object in read_manifest("a.yaml", text.as_bytes()).unwrap().objects {
            match object {
                Object::Other(stored) => drop(snapshot.store.insert(stored)),
                rule => snapshot.objects.push(rule),
            }
        }
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("known.jsonl");
        assert!(read(&path).unwrap().is_none());
        write(&path, &snapshot).unwrap();
        let cached = read(&path).unwrap().unwrap();
        assert!(cached.age < Duration::from_secs(60));
        assert_eq!(cached.snapshot.store, snapshot.store);
        let Object::RoutingRule(rule) = &cached.snapshot.objects[0] else { panic!("a rule") };
        let Object::RoutingRule(written) = &snapshot.objects[0] else { panic!("a rule") };
        assert_eq!(rule.object, written.object);
    }

    #[test]
    fn what_is_old_or_of_another_format_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("known.jsonl");
        for (header, error) in [
            (r#"{"format":"usher.dev/known-objects/v1","written":0}"#, "hours old"),
            (r#"{"format":"other","written":9999999999}"#, "format other"),
            ("", "EOF"),
        ] {
            fs::write(&path, format!("{header}\n")).unwrap();
            let refused = read(&path).err().unwrap().to_string();
            assert!(refused.contains(error), "{refused}");
        }
    }
}
