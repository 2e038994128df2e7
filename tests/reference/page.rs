//! A file format as a page: one section a table, one row a key.

use syn::{Attribute, Fields, ItemEnum, Type};

use super::types::{Found, Library, argument, documentation, named, serde, snake};

/// How nested tables are named.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Toml,
    Json,
}

/// A page in the making.
pub struct Page<'a> {
    library: &'a Library,
    format: Format,
    /// Types that have a section already: where they are, their name, their heading.
    told: Vec<(usize, String, String)>,
    /// Types that still need one.
    waiting: Vec<(usize, String)>,
    /// Keys without documentation.
    pub undocumented: Vec<String>,
    pub text: String,
}

impl<'a> Page<'a> {
    pub fn new(library: &'a Library, format: Format) -> Self {
        Self { library, format, told: vec![], waiting: vec![], undocumented: vec![], text: String::new() }
    }

    /// The type `name` of a module with all that it holds, its own keys under `heading`.
    pub fn root(&mut self, module: &str, name: &str, heading: &str) {
        let near = self.library.module(module);
        self.heading(heading);
        self.told.push((near, name.to_owned(), heading.to_owned()));
        self.section(near, name, "");
        while !self.waiting.is_empty() {
            let (near, name) = self.waiting.remove(0);
            let told = self.told.iter().find(|(k, n, _)| *k == near && *n == name);
            let heading = told.map(|(.., heading)| heading.clone()).unwrap();
            self.heading(&heading);
            self.section(near, &name, &heading);
        }
    }

    fn heading(&mut self, heading: &str) {
        self.text += &format!("\n## {heading}\n\n");
    }

    fn section(&mut self, near: usize, name: &str, path: &str) {
        let (near, found) = self.library.find(name, near).unwrap_or_else(|| panic!("no type `{name}`"));
        match found {
            Found::Struct(x) => {
                self.about(&x.attrs);
                self.keys(near, &x.ident.to_string(), &x.attrs, &x.fields, path);
            }
            Found::Enum(x) => {
                self.about(&x.attrs);
                self.variants(near, x, path);
            }
        }
    }

    fn about(&mut self, attrs: &[Attribute]) {
        let about = documentation(attrs).replace("\\|", "|");
        if !about.is_empty() {
            self.text += &format!("{about}\n\n");
        }
    }

    /// One row a key.
    fn keys(&mut self, near: usize, of: &str, attrs: &[Attribute], fields: &Fields, path: &str) {
        self.text += "| key | value | if left out | meaning |\n|---|---|---|---|\n";
        self.rows(near, of, attrs, fields, path);
    }

    fn rows(&mut self, near: usize, of: &str, attrs: &[Attribute], fields: &Fields, path: &str) {
        let all_have_defaults = serde(attrs, "default").is_some();
        for field in named(fields) {
            if serde(&field.attrs, "skip").is_some() {
                continue;
            }
            let name = field.ident.as_ref().unwrap().to_string();
            if serde(&field.attrs, "flatten").is_some() {
                self.flattened(near, &field.ty, path);
                continue;
            }
            let key = serde(&field.attrs, "rename").unwrap_or_else(|| name.clone());
            let below = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            let optional = argument(&field.ty, "Option");
            let value = self.value(near, optional.unwrap_or(&field.ty), &below);
            let default = match serde(&field.attrs, "default") {
                _ if optional.is_some() => "–".to_owned(),
                Some(function) if !function.is_empty() => {
                    let call = syn::parse_str(&format!("{function}()")).unwrap();
                    self.library.value(&call, near).unwrap_or_else(|| panic!("{of}.{name}: default"))
                }
                Some(_) => self.zero(near, &field.ty),
                None if all_have_defaults => {
                    self.library.field_default(of, &name, near).unwrap_or_else(|| self.zero(near, &field.ty))
                }
                None => "**required**".to_owned(),
            };
            let meaning = documentation(&field.attrs);
            if meaning.is_empty() {
                self.undocumented
                    .push(format!("{}, {of}: {key}", self.library.sources[near].module.join("::")));
            }
            self.text += &format!("| `{key}` | {value} | {default} | {meaning} |\n");
        }
    }

    /// The keys of a table that stand in the one above it.
    fn flattened(&mut self, near: usize, ty: &Type, path: &str) {
        let Type::Path(ty) = ty else { panic!("{path}: what is flattened is no table") };
        let name = ty.path.segments.last().unwrap().ident.to_string();
        let library = self.library;
        match library.find(&name, near) {
            Some((near, Found::Struct(x))) => self.rows(near, &name, &x.attrs, &x.fields, path),
            _ => panic!("{path}: `{name}` is no table"),
        }
    }

    fn variants(&mut self, near: usize, found: &ItemEnum, path: &str) {
        let untagged = serde(&found.attrs, "untagged").is_some();
        let tag = serde(&found.attrs, "tag");
        if let (Some(tag), Some(_)) = (&tag, found.variants.first()) {
            self.text += &format!("The key `{tag}` says which of these it is.\n\n");
        }
        for variant in &found.variants {
            let name = snake(&variant.ident.to_string());
            let meaning = documentation(&variant.attrs).replace("\\|", "|");
            let content = match &variant.fields {
                Fields::Unit => None,
                Fields::Unnamed(x) => Some(self.value(near, &x.unnamed.first().unwrap().ty, path)),
                Fields::Named(x) => {
                    let keys = x.named.iter().map(|field| {
                        let key = field.ident.as_ref().unwrap();
                        let about = documentation(&field.attrs).replace("\\|", "|");
                        let value = self.value(near, &field.ty, &format!("{path}.{key}"));
                        let about = if about.is_empty() { value } else { format!("{value}; {about}") };
                        format!("`{key}`: {}", about.trim_end_matches('.'))
                    });
                    Some(keys.collect::<Vec<_>>().join(", "))
                }
            };
            if meaning.is_empty() {
                self.undocumented.push(format!("{}: {name}", found.ident));
            }
            self.text += &match (untagged, &tag, content) {
                (true, _, Some(content)) => format!("- {content}: {meaning}\n"),
                (false, Some(tag), Some(content)) => {
                    format!("- `{tag} = \"{name}\"` with {content}. {meaning}\n")
                }
                (false, None, Some(content)) => format!("- `{name}` ({content}): {meaning}\n"),
                (_, _, None) => format!("- `\"{name}\"`: {meaning}\n"),
            };
        }
    }

    /// A type in words; one of our own gets a section.
    fn value(&mut self, near: usize, ty: &Type, path: &str) -> String {
        match ty {
            Type::Array(x) => {
                let (n, inner) = (self.library.length(&x.len, near), self.value(near, &x.elem, path));
                if inner == "number" { format!("{n} numbers") } else { format!("{n} times {inner}") }
            }
            Type::Tuple(x) => format!("{} numbers", x.elems.len()),
            Type::Path(x) => {
                let last = x.path.segments.last().unwrap().ident.to_string();
                match last.as_str() {
                    // The one parameter that our types have is `f64` wherever they are written.
                    "f64" | "T" => "number".to_owned(),
                    "bool" => "`true` or `false`".to_owned(),
                    "usize" | "u64" | "u32" => "whole number".to_owned(),
                    "String" => "text".to_owned(),
                    "PathBuf" => "path".to_owned(),
                    "Table" => "table".to_owned(),
                    "Vector3" => "3 numbers".to_owned(),
                    "Matrix3" => "9 numbers, by columns".to_owned(),
                    "Vec" => self.list(near, argument(ty, "Vec").unwrap(), path),
                    "Option" => {
                        let inner = self.value(near, argument(ty, "Option").unwrap(), path);
                        format!("{inner}, or null")
                    }
                    "Box" => self.value(near, argument(ty, "Box").unwrap(), path),
                    "BTreeMap" => {
                        let place = match self.format {
                            Format::Toml => format!("{path}.NAME"),
                            Format::Json => path.to_owned(),
                        };
                        let inner = self.value(near, argument(ty, "BTreeMap").unwrap(), &place);
                        format!("by name: {inner}")
                    }
                    _ => self.own(near, &last, path),
                }
            }
            _ => panic!("no words for the type of {path}"),
        }
    }

    fn list(&mut self, near: usize, of: &Type, path: &str) -> String {
        let place = match self.format {
            Format::Toml => path.to_owned(),
            Format::Json => format!("{path}[]"),
        };
        match self.value(near, of, &place).as_str() {
            "number" => "list of numbers".to_owned(),
            "text" => "list of texts".to_owned(),
            inner => format!("list; each {inner}"),
        }
    }

    /// A link to the section of one of our own types.
    fn own(&mut self, near: usize, name: &str, path: &str) -> String {
        let (near, _) = self
            .library
            .find(name, near)
            .unwrap_or_else(|| panic!("`{name}` in {:?} is unknown", self.library.sources[near].module));
        let told = self.told.iter().find(|(k, n, _)| *k == near && n == name);
        let (heading, like) = match told {
            Some((.., heading)) => (heading.clone(), if heading == path { "" } else { "as " }),
            None => {
                self.told.push((near, name.to_owned(), path.to_owned()));
                self.waiting.push((near, name.to_owned()));
                (path.to_owned(), "")
            }
        };
        format!("{like}[{heading}](#{})", anchor(&heading))
    }

    /// What `Default` gives a type.
    fn zero(&mut self, near: usize, ty: &Type) -> String {
        if let Type::Array(_) = ty {
            return "zeros".to_owned();
        }
        let Type::Path(path) = ty else { return "zeros".to_owned() };
        let name = path.path.segments.last().unwrap().ident.to_string();
        match name.as_str() {
            "f64" | "u64" | "usize" => "0".to_owned(),
            "bool" => "`false`".to_owned(),
            "Vec" | "BTreeMap" | "Table" => "none".to_owned(),
            _ => self.library.default_of(&name, near).unwrap_or_else(|| "see there".to_owned()),
        }
    }
}

/// The address of a heading within its page.
pub fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}
