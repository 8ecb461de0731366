//! `extends`: from whom a provider takes what its own files leave out.

use super::merge::MergedProvider;
use super::names::Names;
use crate::diagnostic::{Code, Problem, did_you_mean};

/// For each provider: itself, what it extends (depth first, in the order written), the base, what the base extends. Nobody twice. Who is missing may be in a file that could not be read, unless
/// all could be.
pub(super) fn chains(providers: &[MergedProvider], names: &Names, default: usize, is_complete: bool, problems: &mut Vec<Problem>) -> Vec<Vec<usize>> {
    let parents: Vec<Vec<usize>> = providers.iter().map(|provider| resolve(provider, names, is_complete, problems)).collect();
    let mut told = Vec::new();
    for start in 0..providers.len() {
        if !told.contains(&start) {
            told.extend(report_cycle(start, providers, &parents, problems));
        }
    }
    let chain = |index: usize| {
        let mut chain = Vec::new();
        collect(index, &parents, &mut chain);
        // The base and its family come last even when something on the way extends them.
        let mut base = Vec::new();
        collect(default, &parents, &mut base);
        if index != default {
            chain.retain(|member| !base.contains(member) || *member == index);
            base.retain(|member| !chain.contains(member));
            chain.extend(base);
        }
        chain
    };
    (0..providers.len()).map(chain).collect()
}

fn resolve(provider: &MergedProvider, names: &Names, is_complete: bool, problems: &mut Vec<Problem>) -> Vec<usize> {
    let mut parents = Vec::new();
    for name in &provider.extends {
        match names.exact(name) {
            Some(parent) => parents.push(parent),
            None => {
                let problem = Problem::new(Code::UnknownExtends, name.at, format!("`extends` names `{}`, but no rule file is for it", **name));
                match did_you_mean(name, names.iter()) {
                    Some(meant) => problems.push(problem.hint(format!("did you mean \"{meant}\"?"))),
                    None if is_complete => problems.push(problem.hint("name a provider that has a file")),
                    None => {}
                }
            }
        }
    }
    parents
}

/// Reports the circle that leads from the provider back to itself, and gives its members.
fn report_cycle(start: usize, providers: &[MergedProvider], parents: &[Vec<usize>], problems: &mut Vec<Problem>) -> Vec<usize> {
    let reaches_start = |from: usize| {
        let mut reached = Vec::new();
        collect(from, parents, &mut reached);
        reached.contains(&start)
    };
    let mut circle = vec![start];
    loop {
        let last = circle[circle.len() - 1];
        match parents[last].iter().copied().find(|&parent| reaches_start(parent)) {
            None => return Vec::new(),
            Some(parent) if parent == start => break,
            // Another circle on the way: it is reported from its own members.
            Some(parent) if circle.contains(&parent) => return Vec::new(),
            Some(parent) => circle.push(parent),
        }
    }
    let provider = &providers[start];
    let at = provider.extends.first().map_or(provider.name.at, |name| name.at);
    let names: Vec<_> = circle.iter().chain([&start]).map(|&member| format!("`{}`", *providers[member].name)).collect();
    problems.push(Problem::new(Code::ExtendsCycle, at, names.join(" extends ")).hint("remove one `extends` of the circle"));
    circle
}

fn collect(index: usize, parents: &[Vec<usize>], chain: &mut Vec<usize>) {
    // The list of those seen bounds the depth by the number of files, circles included.
    if chain.contains(&index) {
        return;
    }
    chain.push(index);
    for &parent in &parents[index] {
        collect(parent, parents, chain);
    }
}
