//! Comprehensions: what macros are made of.

use super::Checker;
use super::static_type::Type;
use crate::ast::{Comprehension, ExprId};

impl<'s> Checker<'s> {
    pub(super) fn comprehension(&mut self, id: ExprId, comprehension: &'s Comprehension) {
        self.check(comprehension.iter_range);
        self.check(comprehension.accu_init);
        let range = self.found.apply(self.ty(comprehension.iter_range));
        let accumulated = self.ty(comprehension.accu_init).clone();
        let depth = self.scopes.len();
        self.scopes.push((&comprehension.accu_var, accumulated.clone()));

        let (first, second) = self.iterated(comprehension, &range);
        self.scopes.push((&comprehension.iter_var, first));
        if let Some(name) = &comprehension.iter_var2 {
            self.scopes.push((name, second));
        }
        self.check(comprehension.loop_condition);
        self.require(comprehension.loop_condition, &Type::Bool, "a macro's predicate must be a condition");
        self.check(comprehension.loop_step);
        self.require(
            comprehension.loop_step,
            &accumulated,
            "every round must give what the next one starts from",
        );
        // The result stands outside of the loop.
        self.scopes.truncate(depth + 1);
        self.check(comprehension.result);
        self.scopes.truncate(depth);
        let ty = self.found.apply(self.ty(comprehension.result));
        self.set(id, ty);
    }

    /// The types of the loop's variables.
    fn iterated(&mut self, comprehension: &Comprehension, range: &Type) -> (Type, Type) {
        match range {
            Type::List(item) if comprehension.iter_var2.is_some() => (Type::Int, (**item).clone()),
            Type::List(item) => ((**item).clone(), Type::Dyn),
            Type::Map(entry) => (**entry).clone(),
            Type::Dyn | Type::Error | Type::Var(_) => {
                self.found.assignable(&Type::Dyn, range);
                (Type::Dyn, Type::Dyn)
            }
            other => {
                let message = format!(
                    "expression of type '{}' cannot be range of a comprehension (must be list, map, or dynamic)",
                    other.in_messages()
                );
                self.report(comprehension.iter_range, message, None);
                (Type::Error, Type::Error)
            }
        }
    }

    fn require(&mut self, id: ExprId, wanted: &Type, help: &str) {
        let ty = self.ty(id).clone();
        if !self.found.assignable(wanted, &ty) {
            self.mismatch(id, wanted, &ty, help);
        }
    }
}
