//! The index: which rules can match a request, found by its envelope.

use std::collections::HashMap;
use std::sync::Arc;

use super::guard::{Fact, Guard};
use super::matching::{MatchPolicy, ResourcePattern, ResourceRule, calls};
use super::request::{Operation, Phase, Request};
use super::rule::{Mode, Rule};

/// Finds rules by group, resource, subresource, operation and phase, then by one guard each.
///
/// What it finds is a superset of what matches, in evaluation order; a rule that it does not find costs nothing, and finding nothing allocates
/// nothing.
#[derive(Debug, Default)]
pub(super) struct Candidates {
    groups: Names,
    resources: Names,
    sub_resources: Names,
    buckets: HashMap<Key, Bucket>,
}

/// Numbers for the names that rules mention; others can only match wildcards.
#[derive(Debug, Default)]
struct Names {
    numbers: HashMap<Box<str>, u32>,
    /// Some rule mentions `*`.
    any: bool,
}

/// The number of `*`.
const ANY: u32 = 0;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Key {
    group: u32,
    resource: u32,
    sub_resource: u32,
    lane: (Operation, Phase),
}

/// Rules, by their place in the evaluation order, ascending.
type Ranks = Vec<u32>;

#[derive(Debug, Default)]
struct Bucket {
    unguarded: Ranks,
    guarded: Vec<GuardedRules>,
}

/// The rules of a bucket that are keyed by guards on one fact.
#[derive(Debug)]
struct GuardedRules {
    fact: Fact,
    by_value: HashMap<Box<str>, Ranks>,
    when_absent: Ranks,
}

impl Candidates {
    /// `rules` in evaluation order.
    pub(super) fn new(rules: &[Arc<Rule>]) -> Self {
        let mut index = Self::default();
        for (rank, rule) in (0..).zip(rules) {
            if rule.mode != Mode::Disabled {
                index.insert(rank, rule);
            }
        }
        index
    }

    /// The ranks of rules that can match, ascending.
    pub(super) fn find<'s>(&'s self, request: &Request<'_>, phase: Phase) -> Found<'s> {
        let mut found = Found { lists: [&[]; MOST_LISTS], len: 0 };
        let lane = (request.operation, phase);
        for (call, sub_resource) in calls(request, MatchPolicy::Equivalent) {
            for group in self.groups.find(call.group) {
                for resource in self.resources.find(call.resource) {
                    for sub_resource in self.sub_resources.find(sub_resource) {
                        if let Some(bucket) = self.buckets.get(&Key { group, resource, sub_resource, lane }) {
                            bucket.collect(request, &mut found);
                        }
                    }
                }
            }
        }
        found
    }

    fn insert(&mut self, rank: u32, rule: &Rule) {
        // The guard to key by: the most telling fact.
        let guard =
            Fact::ALL.into_iter().find_map(|fact| rule.guards.iter().find(|guard| guard.fact == fact));
        let anything = [ResourceRule::anything()];
        let resource_rules: &[ResourceRule] = if rule.constraints.resource_rules.is_empty() {
            &anything
        } else {
            &rule.constraints.resource_rules
        };
        for phase in [Phase::Mutating, Phase::Validating] {
            if !rule.acts_in(phase) {
                continue;
            }
            for resource_rule in resource_rules {
                for operation in Operation::ALL {
                    if resource_rule.operations.contains(operation) {
                        self.insert_lane(rank, resource_rule, guard, (operation, phase));
                    }
                }
            }
        }
    }

    fn insert_lane(
        &mut self,
        rank: u32,
        resource_rule: &ResourceRule,
        guard: Option<&Guard>,
        lane: (Operation, Phase),
    ) {
        for group in &resource_rule.api_groups {
            for ResourcePattern { resource, sub_resource } in &resource_rule.resources {
                let key = Key {
                    group: self.groups.number(group),
                    resource: self.resources.number(resource),
                    sub_resource: self.sub_resources.number(sub_resource),
                    lane,
                };
                self.buckets.entry(key).or_default().insert(rank, guard);
            }
        }
    }
}

impl Names {
    fn number(&mut self, name: &str) -> u32 {
        if name == "*" {
            self.any = true;
            return ANY;
        }
        // A rule set has far fewer than 2^32 names.
        let next = u32::try_from(self.numbers.len() + 1).unwrap_or(u32::MAX);
        *self.numbers.entry(name.into()).or_insert(next)
    }

    /// The number of the wildcard and that of the name, each if a rule mentions it: every combination of them is looked up.
    fn find(&self, name: &str) -> impl Iterator<Item = u32> + use<> {
        self.any.then_some(ANY).into_iter().chain(self.numbers.get(name).copied())
    }
}

impl Bucket {
    fn insert(&mut self, rank: u32, guard: Option<&Guard>) {
        let Some(guard) = guard else {
            return push(&mut self.unguarded, rank);
        };
        let place = self.guarded.iter().position(|rules| rules.fact == guard.fact).unwrap_or_else(|| {
            self.guarded.push(GuardedRules {
                fact: guard.fact,
                by_value: HashMap::new(),
                when_absent: Ranks::new(),
            });
            self.guarded.len() - 1
        });
        let rules = &mut self.guarded[place];
        for value in &guard.values {
            push(rules.by_value.entry(value.clone()).or_default(), rank);
        }
        if guard.or_absent {
            push(&mut rules.when_absent, rank);
        }
    }

    fn collect<'s>(&'s self, request: &Request<'_>, found: &mut Found<'s>) {
        found.add(&self.unguarded);
        for rules in &self.guarded {
            let fact = rules.fact.of(request);
            if fact.is_empty() {
                found.add(&rules.when_absent);
            } else if let Some(ranks) = rules.by_value.get(fact) {
                found.add(ranks);
            }
        }
    }
}

/// Rules are inserted in order, so only the last one can be there already.
fn push(ranks: &mut Ranks, rank: u32) {
    if ranks.last() != Some(&rank) {
        ranks.push(rank);
    }
}

/// Two calls, two groups, two resources, two subresources; in each bucket the unguarded rules and one list for each fact.
const MOST_LISTS: usize = 2 * 2 * 2 * 2 * (1 + Fact::ALL.len());

/// Several ascending lists, merged as they are read.
#[derive(Clone, Debug)]
pub(super) struct Found<'s> {
    lists: [&'s [u32]; MOST_LISTS],
    len: usize,
}

impl<'s> Found<'s> {
    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    fn add(&mut self, ranks: &'s [u32]) {
        // There are at most as many lists as places, so none is ever left out.
        if let Some(place) = self.lists.get_mut(self.len).filter(|_| !ranks.is_empty()) {
            *place = ranks;
            self.len += 1;
        }
    }
}

impl Iterator for Found<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        let lists = &mut self.lists[..self.len];
        let first = lists.iter().filter_map(|ranks| ranks.first()).copied().min()?;
        for ranks in lists {
            if let Some((_, rest)) = ranks.split_first().filter(|(rank, _)| **rank == first) {
                *ranks = rest;
            }
        }
        Some(first)
    }
}

#[cfg(test)]
mod tests;
