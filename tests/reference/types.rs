//! The types that files are read into, as the source code states them: names, documentation, defaults.

use std::fs;
use std::path::Path;

use quote::ToTokens;
use syn::{Attribute, Expr, Fields, Item, ItemEnum, ItemStruct, Meta, Stmt, Type, UseTree};

/// A source file and the module that it is.
pub struct Source {
    pub module: Vec<String>,
    pub items: Vec<Item>,
}

/// All of `src/`.
pub struct Library {
    pub sources: Vec<Source>,
}

/// A struct or enum that serde reads or writes.
#[derive(Clone, Copy)]
pub enum Found<'a> {
    Struct(&'a ItemStruct),
    Enum(&'a ItemEnum),
}

impl Library {
    pub fn read(folder: &Path) -> Self {
        let mut library = Self { sources: vec![] };
        library.read_folder(folder, &mut vec![]);
        library
    }

    fn read_folder(&mut self, folder: &Path, module: &mut Vec<String>) {
        let mut entries: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        entries.sort();
        for path in entries {
            let stem = path.file_stem().unwrap().to_str().unwrap().to_owned();
            if path.is_dir() {
                module.push(stem);
                self.read_folder(&path, module);
                module.pop();
            } else if path.extension().is_some_and(|e| e == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                let file = syn::parse_file(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
                let mut module = module.clone();
                if !["mod", "lib", "main"].contains(&stem.as_str()) {
                    module.push(stem);
                }
                self.sources.push(Source { module, items: file.items });
            }
        }
    }

    /// The source file of a module such as `scenario::load::schema`.
    pub fn module(&self, path: &str) -> usize {
        let wanted: Vec<&str> = path.split("::").collect();
        let found = self.sources.iter().position(|source| source.module == wanted);
        found.unwrap_or_else(|| panic!("there is no module {path}"))
    }

    /// The type of this name that is meant in source number `near`.
    pub fn find(&self, name: &str, near: usize) -> Option<(usize, Found<'_>)> {
        // Types that serialise by hand, as another.
        let name = match name {
            "Arm" => "ArmDescription",
            "PiecewiseBezier" => "StatedPieces",
            other => other,
        };
        let mut candidates: Vec<_> = (0..self.sources.len())
            .flat_map(|k| self.sources[k].items.iter().map(move |item| (k, item)))
            .filter_map(|(k, item)| match item {
                Item::Struct(x) if x.ident == name && derives(&x.attrs) => Some((k, Found::Struct(x))),
                Item::Enum(x) if x.ident == name && derives(&x.attrs) => Some((k, Found::Enum(x))),
                _ => None,
            })
            .collect();
        if let Some(&here) = candidates.iter().find(|(k, _)| *k == near) {
            return Some(here);
        }
        let imported = self.sources[near].import(name).unwrap_or_default();
        let shared = |k: usize| self.sources[k].module.iter().filter(|part| imported.contains(part)).count();
        candidates.sort_by_key(|(k, _)| shared(*k));
        let best = candidates.pop()?;
        let tie = candidates.last().is_some_and(|(k, _)| shared(*k) == shared(best.0));
        assert!(!tie, "`{name}` in {:?} may mean several types", self.sources[near].module);
        Some(best)
    }

    /// The value of a constant: of source `near`, of the module that it was imported from, or of whatever module.
    fn constant(&self, name: &str, near: usize) -> Option<&Expr> {
        let of = |k: usize| {
            self.sources[k].items.iter().find_map(|item| match item {
                Item::Const(x) if x.ident == name => Some(&*x.expr),
                _ => None,
            })
        };
        let imported = self.sources[near].import(name).unwrap_or_default();
        let shared =
            |k: &usize| self.sources[*k].module.iter().filter(|part| imported.contains(part)).count();
        of(near)
            .or_else(|| (0..self.sources.len()).filter(|k| of(*k).is_some()).max_by_key(shared).and_then(of))
    }

    /// What a function without arguments returns, if that is a single expression: one of source `near`, or a method of any.
    fn returned(&self, name: &str, near: usize) -> Option<&Expr> {
        let single = |stmts: &'_ [Stmt]| matches!(stmts, [Stmt::Expr(_, None)]);
        let free = self.sources[near].items.iter().find_map(|item| match item {
            Item::Fn(x) if x.sig.ident == name => Some(&x.block.stmts),
            _ => None,
        });
        let methods = self.sources.iter().flat_map(|source| &source.items).filter_map(|item| match item {
            Item::Impl(x) => Some(&x.items),
            _ => None,
        });
        let mut methods = methods.flatten().filter_map(|item| match item {
            syn::ImplItem::Fn(x) if x.sig.ident == name => Some(&x.block.stmts),
            _ => None,
        });
        match free.or_else(|| methods.next())?.as_slice() {
            stmts @ [Stmt::Expr(expr, None)] if single(stmts) => Some(expr),
            _ => None,
        }
    }

    /// A constant expression as a person would write it in a file, if it is simple enough.
    pub fn value(&self, expr: &Expr, near: usize) -> Option<String> {
        match expr {
            Expr::Lit(x) => {
                let text = x.lit.to_token_stream().to_string().replace('_', "");
                Some(text.strip_suffix(".0").unwrap_or(&text).to_owned())
            }
            Expr::Unary(x) => Some(format!("-{}", self.value(&x.expr, near)?)),
            Expr::Array(x) => {
                let parts: Option<Vec<_>> = x.elems.iter().map(|e| self.value(e, near)).collect();
                Some(format!("[{}]", parts?.join(", ")))
            }
            Expr::Repeat(x) => Some(format!("{} each", self.value(&x.expr, near)?)),
            Expr::MethodCall(x) => self.value(&x.receiver, near),
            Expr::Path(x) => {
                let name = x.path.segments.last()?.ident.to_string();
                match self.constant(&name, near) {
                    Some(expr) => self.value(expr, near),
                    None => Some(format!("`{}`", snake(&name))),
                }
            }
            Expr::Call(x) => match &*x.func {
                Expr::Path(f) => {
                    let f = &f.path.segments;
                    let name = f.last()?.ident.to_string();
                    match name.as_str() {
                        "default" => self.default_of(&f.first()?.ident.to_string(), near),
                        _ => self.value(self.returned(&name, near)?, near),
                    }
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// The variant of an enum that is its default.
    pub fn default_of(&self, name: &str, near: usize) -> Option<String> {
        let (_, Found::Enum(found)) = self.find(name, near)? else { return None };
        let variant = found.variants.iter().find(|v| v.attrs.iter().any(|a| a.path().is_ident("default")))?;
        Some(format!("`{}`", snake(&variant.ident.to_string())))
    }

    /// What `impl Default` gives the field of a type.
    pub fn field_default(&self, of: &str, field: &str, near: usize) -> Option<String> {
        self.sources[near].items.iter().find_map(|item| {
            let Item::Impl(x) = item else { return None };
            let of_default = x.trait_.as_ref().is_some_and(|(_, path, _)| path.is_ident("Default"));
            if !of_default || x.self_ty.to_token_stream().to_string() != of {
                return None;
            }
            let [syn::ImplItem::Fn(f)] = x.items.as_slice() else { return None };
            let [Stmt::Expr(Expr::Struct(s), None)] = f.block.stmts.as_slice() else { return None };
            let given = s.fields.iter().find(|f| f.member.to_token_stream().to_string() == field)?;
            self.value(&given.expr, near)
        })
    }

    /// The length of an array.
    pub fn length(&self, expr: &Expr, near: usize) -> String {
        self.value(expr, near).unwrap_or_else(|| "n".to_owned())
    }
}

impl Source {
    /// The path under which a name was imported.
    fn import(&self, name: &str) -> Option<Vec<String>> {
        fn walk(tree: &UseTree, path: &mut Vec<String>, name: &str) -> Option<Vec<String>> {
            match tree {
                UseTree::Path(x) => {
                    path.push(x.ident.to_string());
                    let found = walk(&x.tree, path, name);
                    path.pop();
                    found
                }
                UseTree::Name(x) if x.ident == name => Some(path.clone()),
                UseTree::Rename(x) if x.rename == name => Some(path.clone()),
                UseTree::Group(x) => x.items.iter().find_map(|tree| walk(tree, path, name)),
                _ => None,
            }
        }
        self.items.iter().find_map(|item| match item {
            Item::Use(x) => walk(&x.tree, &mut vec![], name),
            _ => None,
        })
    }
}

fn derives(attrs: &[Attribute]) -> bool {
    attrs.iter().any(|a| a.path().is_ident("derive") && a.to_token_stream().to_string().contains("erialize"))
}

/// The documentation of an item as one paragraph, fit for a cell of a table.
pub fn documentation(attrs: &[Attribute]) -> String {
    let lines = attrs.iter().filter(|a| a.path().is_ident("doc")).filter_map(|a| match &a.meta {
        Meta::NameValue(x) => match &x.value {
            Expr::Lit(x) => match &x.lit {
                syn::Lit::Str(text) => Some(text.value().trim().to_owned()),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    });
    plain(&lines.collect::<Vec<_>>().join(" ")).replace('|', "\\|")
}

/// Links into the source code become code.
fn plain(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("[`") {
        out += &rest[..at];
        let Some(end) = rest[at..].find("`]").map(|end| at + end) else { break };
        let name = rest[at + 2..end].replace("crate::", "").replace("super::", "");
        out += &format!("`{name}`");
        rest = &rest[end + 2..];
        if rest.starts_with('(')
            && let Some(close) = rest.find(')')
        {
            rest = &rest[close + 1..];
        }
    }
    out + rest
}

/// A word in the argument of `#[serde(..)]`: `Some("")` where it has no value.
pub fn serde(attrs: &[Attribute], word: &str) -> Option<String> {
    attrs.iter().filter(|a| a.path().is_ident("serde")).find_map(|a| {
        let mut found = None;
        let _ = a.parse_nested_meta(|meta| {
            let value = match meta.value() {
                Ok(value) => value.parse::<syn::LitStr>()?.value(),
                Err(_) => String::new(),
            };
            if meta.path.is_ident(word) {
                found = Some(value);
            }
            Ok(())
        });
        found
    })
}

/// `PredictedWidth` as `predicted_width`.
pub fn snake(name: &str) -> String {
    let mut out = String::new();
    for (k, c) in name.chars().enumerate() {
        if c.is_uppercase() && k > 0 {
            out.push('_');
        }
        out.extend(c.to_lowercase());
    }
    out
}

/// The one type between the angle brackets of `Name<T>`.
pub fn argument<'a>(ty: &'a Type, name: &str) -> Option<&'a Type> {
    let Type::Path(path) = ty else { return None };
    let last = path.path.segments.last()?;
    if last.ident != name {
        return None;
    }
    let syn::PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    match arguments.args.last()? {
        syn::GenericArgument::Type(ty) => Some(ty),
        _ => None,
    }
}

/// The named fields of a struct or a variant.
pub fn named(fields: &Fields) -> impl Iterator<Item = &syn::Field> {
    fields.iter().filter(|field| field.ident.is_some())
}
