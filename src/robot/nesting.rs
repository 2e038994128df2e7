//! How deep the elements of an XML text stand in each other: readers of XML go one call deeper with each, until there is no stack left.

/// No element of a URDF stands deeper. Its own stand five deep, what simulators add some ten.
pub(super) const DEEPEST: usize = 100;

/// The line, counted from 1, of the first element that stands deeper than [`DEEPEST`].
pub(super) fn too_deep(text: &str) -> Option<usize> {
    let (mut depth, mut at) = (0_usize, 0);
    while let Some(start) = text[at..].find('<').map(|k| at + k) {
        let rest = &text[start..];
        let passed = [("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>"), ("<!", ">"), ("</", ">")];
        let length = match passed.iter().find(|(opening, _)| rest.starts_with(opening)) {
            Some((opening, closing)) => {
                depth = depth.saturating_sub(usize::from(*opening == "</"));
                opening.len() + rest[opening.len()..].find(closing)? + closing.len()
            }
            None => {
                let length = tag(rest)?;
                depth += usize::from(!rest[..length].ends_with("/>"));
                length
            }
        };
        at = start + length;
        if depth > DEEPEST {
            return Some(1 + text[..at].matches('\n').count());
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

    #[test]
    fn only_elements_within_each_other_count() {
        let nested = |count: usize| format!("{}{}", "<a b='>'>\n".repeat(count), "</a>".repeat(count));
        assert_eq!(too_deep(&nested(DEEPEST)), None);
        assert_eq!(too_deep(&nested(DEEPEST + 1)), Some(DEEPEST + 1));
        // What is never closed is as deep.
        assert_eq!(too_deep(&"<a>".repeat(DEEPEST + 1)), Some(1));
        for flat in [
            "<a/>",
            "<a></a>",
            "<!-- <a> -->",
            "<![CDATA[<a>]]>",
            "<?a <a>?>",
            "<a b=\"/>\" c='>'/>",
            "<a b=\">\"></a>",
        ] {
            assert_eq!(too_deep(&flat.repeat(3 * DEEPEST)), None, "{flat}");
        }
        for hidden in ["<a b=\"/>\">", "<a><!-- </a> -->", "<a><![CDATA[</a>]]>", "<a b='</a>'>"] {
            assert_eq!(too_deep(&hidden.repeat(3 * DEEPEST)), Some(1), "{hidden}");
        }
        for broken in ["<", "<a", "<!--", "<![CDATA[", "</", "<a b=\"", ">", ""] {
            assert_eq!(too_deep(broken), None, "{broken}");
        }
    }
}
