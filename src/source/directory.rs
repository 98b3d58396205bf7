use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::hash::{DefaultHasher, Hasher};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::change::Snapshot;
use super::manifest::{MAX_FILE_BYTES, Manifest, read_manifest};
use super::object::{Object, ObjectKey};
use crate::diagnostic::{Code, Diagnostic};

/// Most files of all paths together: ten times a cluster's worth of rules, one per file.
const MAX_FILES: usize = 20_000;
/// Deepest directory.
const MAX_DEPTH: usize = 32;

/// Files and directories with objects. Reads them when told to and remembers of each file the last content that could
/// be read.
#[derive(Debug)]
pub struct DirectorySource {
    roots: Vec<PathBuf>,
    files: BTreeMap<PathBuf, File>,
    /// Directories that hold files or could, for whoever watches them.
    directories: BTreeSet<PathBuf>,
    /// Findings about paths that are no files.
    faults: Vec<Diagnostic>,
}

#[derive(Debug, Default)]
struct File {
    /// Of the content as it was read last, good or not; `None` if it could not be read.
    hash: Option<u64>,
    /// The last content that could be read.
    good: Manifest,
    /// Why the file as it is now cannot be read.
    fault: Option<Diagnostic>,
}

impl DirectorySource {
    /// Reads the paths: files of any name, and directories with all `.yaml`, `.yml` and `.json` files below. Names that
    /// start with a dot are left out, so that a mounted ConfigMap or Secret, whose files are links into a hidden
    /// directory, is read once.
    ///
    /// # Errors
    ///
    /// A path does not exist or cannot be read. Faults inside files are no errors: see [`Self::snapshot`].
    pub fn open(paths: impl IntoIterator<Item = PathBuf>) -> Result<Self, Box<Diagnostic>> {
        let roots: Vec<PathBuf> = paths.into_iter().collect();
        for root in &roots {
            let readable = std::fs::metadata(root).and_then(|found| match found {
                found if found.is_dir() => std::fs::read_dir(root).map(|_| ()),
                found if found.is_file() => std::fs::File::open(root).map(|_| ()),
                _ => Err(io::Error::other("it is neither a file nor a directory")),
            });
            if let Err(error) = readable {
                return Err(Box::new(unreadable(root, &error)));
            }
        }
        let mut source =
            Self { roots, files: BTreeMap::new(), directories: BTreeSet::new(), faults: Vec::new() };
        source.scan();
        Ok(source)
    }

    /// Reads all paths again; says whether anything is different from before. Blocks while it reads.
    pub fn scan(&mut self) -> bool {
        let mut walk = Walk::default();
        for root in &self.roots {
            walk.root(root);
        }
        let mut changed = walk.faults != self.faults;
        // A path that was named stays known while it is gone, as in the moment between rename and replace.
        let gone: Vec<PathBuf> =
            self.files.keys().filter(|path| !walk.files.contains(*path)).cloned().collect();
        for path in gone {
            if walk.lost.iter().any(|lost| path.starts_with(lost)) {
                continue;
            }
            self.files.remove(&path);
            changed = true;
        }
        for path in walk.files {
            let known = self.files.contains_key(&path);
            changed |= self.files.entry(path.clone()).or_default().refresh(&path) || !known;
        }
        self.directories = walk.directories;
        self.faults = walk.faults;
        changed
    }

    /// All objects as of the last [`scan`](Self::scan). A file that cannot be read as a whole is there with its last
    /// good objects. If an object is defined twice, the first one counts, in the order of paths.
    pub fn snapshot(&self) -> Snapshot {
        let (files, broken_files) = (self.files.len(), self.faults.len());
        let mut snapshot = Snapshot { files, broken_files, ..Snapshot::default() };
        snapshot.diagnostics.extend(self.faults.iter().cloned());
        let mut first: HashMap<ObjectKey, String> = HashMap::new();
        for (path, file) in &self.files {
            if let Some(fault) = &file.fault {
                snapshot.broken_files += 1;
                snapshot.diagnostics.push(fault.clone());
            }
            snapshot.diagnostics.extend(file.good.diagnostics.iter().cloned());
            snapshot.broken.extend(file.good.broken.iter().cloned());
            for object in &file.good.objects {
                if let Some(earlier) = first.get(object.key()) {
                    snapshot.diagnostics.push(duplicate(object, path, earlier));
                    continue;
                }
                first.insert(object.key().clone(), place(object, path));
                match object {
                    Object::Other(stored) => {
                        snapshot.store.insert(stored.clone());
                    }
                    rule => snapshot.objects.push(rule.clone()),
                }
            }
        }
        snapshot
    }

    /// The paths that were opened.
    pub fn roots(&self) -> &[PathBuf] {
        &self.roots
    }

    /// Directories whose entries matter, as of the last scan.
    pub(super) fn directories(&self) -> &BTreeSet<PathBuf> {
        &self.directories
    }
}

/// Whether a file in a directory is read.
pub fn is_manifest(path: &Path) -> bool {
    let extension = path.extension().and_then(|e| e.to_str()).map(str::to_ascii_lowercase);
    matches!(extension.as_deref(), Some("yaml" | "yml" | "json")) && !is_hidden(path)
}

impl File {
    /// Reads the file; says whether it is different from before.
    fn refresh(&mut self, path: &Path) -> bool {
        let bytes = match read(path) {
            Ok(bytes) => bytes,
            Err(error) => {
                let fault = Some(unreadable(path, &error));
                let changed = self.fault != fault || self.hash.is_some();
                (self.hash, self.fault) = (None, fault);
                return changed;
            }
        };
        let mut hasher = DefaultHasher::new();
        hasher.write(&bytes);
        let hash = Some(hasher.finish());
        if self.hash == hash {
            return false;
        }
        self.hash = hash;
        match read_manifest(&path.to_string_lossy(), &bytes) {
            Ok(manifest) => (self.good, self.fault) = (manifest, None),
            Err(fault) => self.fault = Some(*fault),
        }
        true
    }
}

/// At most one byte more than is allowed, so that the size is refused without the whole being read. Opening a pipe that nobody writes to
/// would wait for ever, and with it everything that comes after.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is neither a file nor a directory"));
    }
    let mut bytes = Vec::new();
    let most = u64::try_from(MAX_FILE_BYTES).unwrap_or(u64::MAX).saturating_add(1);
    std::fs::File::open(path)?.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[derive(Default)]
struct Walk {
    files: BTreeSet<PathBuf>,
    directories: BTreeSet<PathBuf>,
    faults: Vec<Diagnostic>,
    /// Paths that cannot be looked into at the moment; what was below them stays as it was.
    lost: Vec<PathBuf>,
    /// What the paths are in truth, so that nothing is read twice and a link in a circle ends.
    seen: HashSet<PathBuf>,
}

impl Walk {
    fn root(&mut self, root: &Path) {
        if let Some(parent) = root.parent() {
            let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
            self.watchable(parent);
        }
        match std::fs::metadata(root) {
            Ok(found) if found.is_dir() => self.directory(root, 0),
            Ok(_) => self.file(root),
            Err(error) => self.lose(root, &error),
        }
    }

    fn directory(&mut self, path: &Path, depth: usize) {
        if !self.first_time(path) {
            return;
        }
        if depth > MAX_DEPTH {
            return self
                .lose(path, &io::Error::other(format!("it is nested deeper than {MAX_DEPTH} directories")));
        }
        self.watchable(path);
        let entries = match std::fs::read_dir(path) {
            Ok(entries) => entries,
            Err(error) => return self.lose(path, &error),
        };
        let mut paths: Vec<PathBuf> =
            entries.filter_map(|e| Some(e.ok()?.path())).filter(|p| !is_hidden(p)).collect();
        paths.sort();
        for path in paths {
            match std::fs::metadata(&path) {
                Ok(found) if found.is_dir() => self.directory(&path, depth + 1),
                Ok(found) if found.is_file() && is_manifest(&path) => self.file(&path),
                Err(error) if is_manifest(&path) => self.lose(&path, &error),
                Ok(_) | Err(_) => {}
            }
        }
    }

    fn file(&mut self, path: &Path) {
        if self.files.len() >= MAX_FILES {
            if self.files.len() == MAX_FILES && !self.faults.iter().any(|f| f.code == Code::FileTooLarge) {
                let message =
                    format!("more than {MAX_FILES} files; this one and those after it are not read");
                let fault =
                    Diagnostic::error(Code::FileTooLarge, message).in_file_named(&path.to_string_lossy());
                self.faults.push(fault.help("put several objects into one file, with `---` between them"));
            }
            return;
        }
        if self.first_time(path) {
            self.files.insert(path.to_owned());
        }
    }

    /// Signs of the system come with the path that is watched: absolute ones can be compared.
    fn watchable(&mut self, directory: &Path) {
        self.directories.insert(std::path::absolute(directory).unwrap_or_else(|_| directory.to_owned()));
    }

    fn first_time(&mut self, path: &Path) -> bool {
        let truth = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        self.seen.insert(truth)
    }

    fn lose(&mut self, path: &Path, error: &io::Error) {
        self.faults.push(unreadable(path, error));
        self.lost.push(path.to_owned());
    }
}

fn is_hidden(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
}

fn unreadable(path: &Path, error: &io::Error) -> Diagnostic {
    let fault = Diagnostic::error(Code::FileUnreadable, format!("cannot be read: {error}"));
    let fault = fault.in_file_named(&path.to_string_lossy());
    match error.kind() {
        io::ErrorKind::NotFound => {
            fault.help("check the path; relative paths start at the current directory")
        }
        io::ErrorKind::PermissionDenied => fault.help("give the user that runs usher the right to read it"),
        _ => fault,
    }
}

fn duplicate(object: &Object, path: &Path, earlier: &str) -> Diagnostic {
    let message = format!("{} is defined more than once; the one at {earlier} counts", object.key());
    let fault = Diagnostic::error(Code::DuplicateObject, message).at("metadata.name");
    let fault = match map(object) {
        Some(map) => map.locate(fault),
        None => fault.in_file_named(&path.to_string_lossy()),
    };
    fault.help("remove one of them, or give it another name")
}

fn place(object: &Object, path: &Path) -> String {
    match map(object) {
        Some(map) => map.place("metadata.name").to_string(),
        None => path.to_string_lossy().into_owned(),
    }
}

fn map(object: &Object) -> Option<&crate::diagnostic::SourceMap> {
    match object {
        Object::RoutingRule(loaded) => loaded.map.as_ref(),
        Object::ValidatingAdmissionPolicy(loaded) => loaded.map.as_ref(),
        Object::ValidatingAdmissionPolicyBinding(loaded) => loaded.map.as_ref(),
        Object::MutatingAdmissionPolicy(loaded) => loaded.map.as_ref(),
        Object::MutatingAdmissionPolicyBinding(loaded) => loaded.map.as_ref(),
        Object::Other(_) => None,
    }
}

#[cfg(test)]
pub(super) mod tests;
