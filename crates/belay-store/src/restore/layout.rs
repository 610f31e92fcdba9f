//! Where each step of a plan happens: which directories exist, what is staged beside them and under which name.

use belay_sys::Stat;

use super::{Plan, Step, join, split};

/// What is done about one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
    /// It is staged under a temporary name of this number, and renamed into its place.
    Stage { temp: u32 },
    /// It is staged inside the directory that the step of this number stages.
    Inside { root: u32 },
    /// It is changed where it is.
    InPlace,
    /// It is removed.
    Remove,
    /// It is one file with another step's path and changes with that.
    Follow,
    /// It is left.
    Leave,
}

/// The steps that happen in one existing directory.
#[derive(Default)]
pub(super) struct Spot {
    /// The step that changes the directory itself.
    pub(super) own: Option<u32>,
    /// The steps that change what is directly in it.
    pub(super) children: Vec<u32>,
    /// What the directory was like before anything in it was changed; known once it was prepared.
    pub(super) found: Option<Stat>,
    /// New files in it get an access control list from it.
    pub(super) inherits: bool,
}

/// A plan with the place of every step.
pub(super) struct Layout<'p> {
    pub(super) plan: &'p Plan,
    /// One for each step.
    pub(super) acts: Vec<Act>,
    /// One for each site.
    pub(super) spots: Vec<Spot>,
    temps: u32,
}

impl<'p> Layout<'p> {
    pub(super) fn new(plan: &'p Plan) -> Layout<'p> {
        let spots = plan.sites.iter().map(|_| Spot::default()).collect();
        let mut layout = Layout { plan, acts: Vec::with_capacity(plan.steps.len()), spots, temps: 0 };
        let mut root: Option<u32> = None;
        for (at, step) in plan.steps.iter().enumerate() {
            root = root.filter(|root| is_beneath(step.path, plan.steps.path(*root as usize)));
            let act = match root {
                Some(root) => Act::Inside { root },
                None => layout.place(at as u32, &step),
            };
            layout.acts.push(act);
            if root.is_none() && step.becomes_dir() && matches!(act, Act::Stage { .. }) {
                root = Some(at as u32);
            }
        }
        layout
    }

    fn place(&mut self, at: u32, step: &Step<'_>) -> Act {
        if step.was_dir() && step.becomes_dir() {
            self.spots[site_of(self.plan, step.path)].own = Some(at);
            return Act::InPlace;
        }
        self.spots[site_of(self.plan, split(step.path).0)].children.push(at);
        match step {
            _ if step.after.is_none() => Act::Remove,
            _ if step.is_staged() => self.new_temp(),
            _ if step.link_to.is_some() => Act::Follow,
            _ => Act::InPlace,
        }
    }

    fn new_temp(&mut self) -> Act {
        self.temps += 1;
        Act::Stage { temp: self.temps }
    }

    /// The steps in the directory of that path.
    pub(super) fn spot_of(&self, path: &[u8]) -> &Spot {
        &self.spots[site_of(self.plan, path)]
    }

    pub(super) fn step(&self, at: u32) -> Step<'p> {
        self.plan.steps.get(at as usize)
    }

    pub(super) fn path(&self, at: u32) -> &'p [u8] {
        self.plan.steps.path(at as usize)
    }

    /// Has a step staged that was to be changed in place, and so those that are one file with it.
    pub(super) fn stage_after_all(&mut self, at: u32) {
        self.acts[at as usize] = self.new_temp();
        let Step { path, names, .. } = self.step(at);
        if names == 1 {
            return;
        }
        for other in 0..self.acts.len() {
            if self.acts[other] == Act::Follow && self.plan.steps.get(other).link_to == Some(path) {
                self.acts[other] = self.new_temp();
            }
        }
    }

    /// Whether the step is staged, and not inside a directory that was given up.
    pub(super) fn is_staged(&self, at: u32) -> bool {
        match self.acts[at as usize] {
            Act::Stage { .. } => true,
            Act::Inside { root } => matches!(self.acts[root as usize], Act::Stage { .. }),
            _ => false,
        }
    }

    /// Whether the step is staged by itself, and not inside another.
    pub(super) fn is_top(&self, at: u32) -> bool {
        matches!(self.acts[at as usize], Act::Stage { .. })
    }

    /// The steps that are staged, in order.
    pub(super) fn staged(&self) -> impl DoubleEndedIterator<Item = u32> + '_ {
        (0..self.acts.len() as u32).filter(|at| self.is_staged(*at))
    }

    /// The directory in which a staged step is prepared, and its name there.
    pub(super) fn staging_place(&self, at: u32, prefix: &[u8]) -> (Vec<u8>, Vec<u8>) {
        let path = self.path(at);
        match self.acts[at as usize] {
            Act::Inside { root } => {
                let inner = &path[self.path(root).len() + 1..];
                let (dir, name) = split(inner);
                let above = self.staging_path(root, prefix);
                (if dir.is_empty() { above } else { join(&above, dir) }, name.to_vec())
            }
            Act::Stage { temp } => (split(path).0.to_vec(), temp_name(prefix, temp)),
            _ => unreachable!("only staged steps are asked for"),
        }
    }

    /// The path at which a staged step is prepared.
    pub(super) fn staging_path(&self, at: u32, prefix: &[u8]) -> Vec<u8> {
        let (dir, name) = self.staging_place(at, prefix);
        join(&dir, &name)
    }
}

/// Where the directory of that path stands among the sites.
fn site_of(plan: &Plan, path: &[u8]) -> usize {
    let found = plan.sites.binary_search_by(|site| site.path.as_slice().cmp(path));
    found.expect("the plan lists every directory that it changes something in")
}

pub(super) fn temp_name(prefix: &[u8], temp: u32) -> Vec<u8> {
    [prefix, temp.to_string().as_bytes()].concat()
}

fn is_beneath(path: &[u8], dir: &[u8]) -> bool {
    path.strip_prefix(dir).is_some_and(|rest| rest.first() == Some(&b'/'))
}
