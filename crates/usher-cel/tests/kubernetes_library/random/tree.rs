//! An expression as text with holes, so that a failing one can be made smaller without knowing its grammar.

/// `parts[0] kids[0] parts[1] kids[1] … parts[n]`.
#[derive(Clone, Debug)]
pub(crate) struct Tree {
    parts: Vec<String>,
    kids: Vec<Self>,
}

impl Tree {
    pub(crate) fn leaf(text: impl Into<String>) -> Self {
        Self { parts: vec![text.into()], kids: Vec::new() }
    }

    /// `template` has one `$` for each of `kids`.
    pub(crate) fn new(template: &str, kids: Vec<Self>) -> Self {
        let parts: Vec<String> = template.split('$').map(str::to_owned).collect();
        assert_eq!(parts.len(), kids.len() + 1, "holes of {template}");
        Self { parts, kids }
    }

    pub(crate) fn text(&self) -> String {
        let mut text = self.parts[0].clone();
        for (kid, part) in self.kids.iter().zip(&self.parts[1..]) {
            text += &kid.text();
            text += part;
        }
        text
    }

    /// Trees with less in them, the smallest first: a part alone, a part in place of what it is in, a part replaced by a literal.
    fn smaller(&self) -> Vec<Self> {
        let mut found = self.kids.clone();
        for (index, kid) in self.kids.iter().enumerate() {
            let literals = ["1", "'a'", "true", "[1]"].map(Self::leaf);
            let replaced = literals.into_iter().filter(|leaf| leaf.text().len() < kid.text().len());
            for less in kid.smaller().into_iter().chain(replaced) {
                let mut copy = self.clone();
                copy.kids[index] = less;
                found.push(copy);
            }
        }
        found
    }

    /// The smallest tree reachable step by step for which `fails` still holds.
    pub(crate) fn shrink(mut self, mut fails: impl FnMut(&Self) -> bool) -> Self {
        // Each step makes the text shorter; the bound is for a failure that comes and goes.
        for _ in 0..200 {
            let length = self.text().len();
            let mut candidates = self.smaller();
            candidates.retain(|tree| tree.text().len() < length);
            candidates.sort_by_key(|tree| tree.text().len());
            let Some(next) = candidates.into_iter().take(300).find(|tree| fails(tree)) else { break };
            self = next;
        }
        self
    }
}
