//! Names that come close to one that does not exist.

const SHOWN_MAX: usize = 3;

/// The candidates that differ least from `name`, best first; none if all are far off.
pub(crate) fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let limit = (name.chars().count() / 3).clamp(1, 4);
    let mut scored: Vec<(usize, &str)> = candidates
        .into_iter()
        .map(|candidate| (distance(name, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= limit || is_part(name, candidate))
        .collect();
    scored.sort();
    scored.dedup();
    scored.into_iter().take(SHOWN_MAX).map(|(_, candidate)| candidate.to_owned()).collect()
}

fn is_part(name: &str, candidate: &str) -> bool {
    name.len() >= 3 && candidate.contains(name)
}

/// Insertions, deletions, replacements and swaps of neighbours that make one text the other.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut here = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let replaced = above[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            here[j] = replaced.min(above[j] + 1).min(here[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                here[j] = here[j].min(before[j - 2] + 1);
            }
        }
        before = std::mem::replace(&mut above, here);
    }
    above[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_count_edits_and_swaps() {
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("snap_ab", "snap_ba"), 1);
        assert_eq!(distance("same", "same"), 0);
    }

    #[test]
    fn only_close_names_are_offered_best_first() {
        let names = ["before-refactor", "before-release", "zebra"];
        assert_eq!(nearest("before-refacto", names), ["before-refactor"]);
        assert_eq!(nearest("before", names), ["before-release", "before-refactor"]);
        assert_eq!(nearest("quite-another", names), Vec::<String>::new());
    }
}
