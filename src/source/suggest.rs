/// The known word that was most likely meant, if one is near enough: at most a third of its letters differ.
pub(super) fn nearest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    // A long word is no slip of the finger, and the distance costs the product of the lengths.
    if word.len() > 64 {
        return None;
    }
    known
        .filter(|k| k.len() <= 64)
        .map(|k| (distance(&word.to_lowercase(), &k.to_lowercase()), k))
        .filter(|(d, k)| *d <= k.len().max(3) / 3)
        .min_by_key(|(d, _)| *d)
        .map(|(_, k)| k)
}

/// Letters to insert, remove, replace or swap with a neighbour (optimal string alignment).
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before: Vec<usize> = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let replaced = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = replaced.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn a_slip_of_the_finger_is_understood_and_another_word_is_not() {
        let known = ["predicate", "name", "reject", "mutate"];
        assert_eq!(nearest("predicat", known.into_iter()), Some("predicate"));
        assert_eq!(nearest("Predicate", known.into_iter()), Some("predicate"));
        assert_eq!(nearest("rejcet", known.into_iter()), Some("reject"));
        assert_eq!(nearest("validate", known.into_iter()), None);
        assert_eq!(nearest(&"x".repeat(10_000), known.into_iter()), None);
    }
}
