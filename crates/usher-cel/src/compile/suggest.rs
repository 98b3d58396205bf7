//! "Did you mean …?"

/// The known name nearest to a wrong one, if it is near enough to be what was meant: one edit in three characters.
pub fn nearest<'n>(wrong: &str, known: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    known
        .map(|name| (strsim::damerau_levenshtein(wrong, name), name))
        .filter(|(distance, name)| *distance > 0 && *distance * 3 <= name.len().max(3))
        .min()
        .map(|(_, name)| name)
}
