//! How deep the elements of an XML text stand in each other: readers of XML go one call deeper with each, until there is no stack left.

/// No element of a URDF stands deeper. Its own stand five deep, what simulators add some ten.
pub(super) const DEEPEST: usize = 100;

/// The line, counted from 1, where readers of XML would be led too far, and why: elements that stand deeper than [`DEEPEST`], or markup without an end, which
/// one reader passes over and another takes for elements.
pub(super) fn fault(text: &str) -> Option<(usize, String)> {
    let line = |at: usize| 1 + text[..at].matches('\n').count();
    let (mut depth, mut at) = (0_usize, 0);
    while let Some(start) = text[at..].find('<').map(|k| at + k) {
        let rest = &text[start..];
        let passed = [("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>"), ("<!", ">"), ("</", ">")];
        let length = match passed.iter().find(|(opening, _)| rest.starts_with(opening)) {
            Some((opening, closing)) => {
                depth = depth.saturating_sub(usize::from(*opening == "</"));
                let Some(inside) = rest[opening.len()..].find(closing) else {
                    return Some((line(start), format!("`{opening}` has no `{closing}`")));
                };
                opening.len() + inside + closing.len()
            }
            None => {
                let Some(length) = tag(rest) else {
                    return Some((line(start), "a tag begins that has no end".to_owned()));
                };
                depth += usize::from(!rest[..length].ends_with("/>"));
                length
            }
        };
        at = start + length;
        if depth > DEEPEST {
            return Some((line(at), format!("elements stand more than {DEEPEST} deep in each other")));
        }
    }
    None
}

/// Bytes of the tag at the beginning of a text; the values of its attributes may hold `>`.
fn tag(text: &str) -> Option<usize> {
    let mut quote = None;
    for (k, byte) in text.bytes().enumerate() {
        match (quote, byte) {
            (None, b'>') => return Some(k + 1),
            (None, b'"' | b'\'') => quote = Some(byte),
            (Some(open), _) if open == byte => quote = None,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line_of(text: &str) -> Option<usize> {
        fault(text).map(|(line, _)| line)
    }

    #[test]
    fn only_elements_within_each_other_count() {
        let nested = |count: usize| format!("{}{}", "<a b='>'>\n".repeat(count), "</a>".repeat(count));
        assert_eq!(line_of(&nested(DEEPEST)), None);
        assert_eq!(line_of(&nested(DEEPEST + 1)), Some(DEEPEST + 1));
        // What is never closed is as deep.
        assert_eq!(line_of(&"<a>".repeat(DEEPEST + 1)), Some(1));
        for flat in [
            "<a/>",
            "<a></a>",
            "<!-- <a> -->",
            "<![CDATA[<a>]]>",
            "<?a <a>?>",
            "<a b=\"/>\" c='>'/>",
            "<a b=\">\"></a>",
        ] {
            assert_eq!(line_of(&flat.repeat(3 * DEEPEST)), None, "{flat}");
        }
        for hidden in ["<a b=\"/>\">", "<a><!-- </a> -->", "<a><![CDATA[</a>]]>", "<a b='</a>'>"] {
            assert_eq!(line_of(&hidden.repeat(3 * DEEPEST)), Some(1), "{hidden}");
        }
        for broken in ["<", "<a", "<!--", "<![CDATA[", "</", "<a b=\"", "<?xml ver=\"<a><a>", "<!DOCTYPE"] {
            let (line, reason) = fault(&format!("<a>\n{broken}\n")).expect(broken);
            assert!(line == 2 && (reason.contains("no end") || reason.contains("has no `")), "{reason}");
        }
        for nothing in [">", ""] {
            assert_eq!(fault(nothing), None);
        }
    }
}
