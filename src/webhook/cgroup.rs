//! How much memory the process may use before the kernel kills it.

use std::path::{Path, PathBuf};

const MEMBERSHIP: &str = "/proc/self/cgroup";
const MOUNT: &str = "/sys/fs/cgroup";
/// Of cgroup v1, which says "no limit" by the largest multiple of a page that fits an `i64`.
const NO_LIMIT: u64 = 1 << 60;

/// The memory limit of the process's control group (v2 or v1), or of the group above it that is tightest. `None` when there is none, or
/// no control groups.
pub(super) fn memory_limit() -> Option<usize> {
    let membership = std::fs::read_to_string(MEMBERSHIP).ok()?;
    files(&membership, Path::new(MOUNT))
        .iter()
        .filter_map(|file| limit(&std::fs::read_to_string(file).ok()?))
        .min()
}

/// The files that may hold a limit, by the kernel's list of the process's groups. Inside a container the list may name the group as the
/// host sees it while the mount begins at the group itself, so every level up to the mount is looked at.
fn files(membership: &str, mount: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for line in membership.lines() {
        let mut fields = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(group)) = (fields.next(), fields.next(), fields.next()) else {
            continue;
        };
        let (top, file) = match controllers {
            "" => (mount.to_owned(), "memory.max"),
            v1 if v1.split(',').any(|controller| controller == "memory") => {
                (mount.join("memory"), "memory.limit_in_bytes")
            }
            _ => continue,
        };
        let group = Path::new(group.trim_start_matches('/'));
        files.extend(group.ancestors().map(|level| top.join(level).join(file)));
    }
    files
}

fn limit(text: &str) -> Option<usize> {
    let bytes: u64 = text.trim().parse().ok()?;
    usize::try_from(bytes).ok().filter(|_| bytes < NO_LIMIT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_versions_are_looked_up_at_every_level() {
        let mount = Path::new("/sys/fs/cgroup");
        let paths = |membership: &str| -> Vec<String> {
            files(membership, mount).iter().map(|path| path.display().to_string()).collect()
        };
        assert_eq!(
            paths("0::/kubepods/pod1\n"),
            [
                "/sys/fs/cgroup/kubepods/pod1/memory.max",
                "/sys/fs/cgroup/kubepods/memory.max",
                "/sys/fs/cgroup/memory.max",
            ]
        );
        assert_eq!(
            paths("9:name=systemd:/x\n4:cpu,memory:/a\n"),
            ["/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.limit_in_bytes"]
        );
        assert_eq!(paths("nonsense"), [""; 0]);
    }

    #[test]
    fn no_limit_is_none() {
        assert_eq!(limit("134217728\n"), Some(128 << 20));
        for none in ["max\n", "9223372036854771712\n", ""] {
            assert_eq!(limit(none), None, "{none:?}");
        }
    }
}
