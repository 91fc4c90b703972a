//! The macro `einsum!`: an expression checked for its grammar and its names when the program is compiled, and evaluated when
//! it runs.
//!
//! ```text
//! einsum!("y(i) = A(i,j) * x(j)", A = &a, x = &x)
//! einsum!("y(i) = A(i,j) * x(j)", A = &a, x = &x -> Vec<f64>)
//! einsum!("y(i) = A(i,j) * x(j)", A = &a, x = &x, y = &mut y)
//! einsum!("C(i,k) = A(i,j) * B(j,k)", A = &a, B = &b, C: Format::csr())
//! einsum!("y(i) = A(i,j) * x(j)", "split(i, i0, i1, 64), parallelize(i0, cpu)", A = &a, x = &x)
//! ```

mod names;

use proc_macro::TokenStream;
use proc_macro2::{Spacing, TokenStream as Tokens, TokenTree};
use quote::{quote, quote_spanned};
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Expr, Ident, LitStr, Token, Type};

use names::{Checked, Kind, Name, check};

/// The arguments: a program, a schedule, tensors, and formats of results.
struct Einsum {
    source: LitStr,
    schedule: Option<LitStr>,
    arguments: Punctuated<Argument, Token![,]>,
}

/// `name = operand`, `name = &mut tensor` or `name: format`.
struct Argument {
    name: Ident,
    kind: Kind,
    value: Expr,
}

impl Parse for Einsum {
    fn parse(input: ParseStream) -> syn::Result<Einsum> {
        let source = input.parse()?;
        let mut einsum = Einsum { source, schedule: None, arguments: Punctuated::new() };
        if input.is_empty() {
            return Ok(einsum);
        }
        input.parse::<Token![,]>()?;
        if input.peek(LitStr) {
            einsum.schedule = Some(input.parse()?);
            if input.is_empty() {
                return Ok(einsum);
            }
            input.parse::<Token![,]>()?;
        }
        einsum.arguments = Punctuated::parse_terminated(input)?;
        Ok(einsum)
    }
}

impl Parse for Argument {
    fn parse(input: ParseStream) -> syn::Result<Argument> {
        let name = input.parse()?;
        let is_format = input.peek(Token![:]);
        if is_format {
            input.parse::<Token![:]>()?;
        } else {
            input.parse::<Token![=]>()?;
        }
        let value: Expr = input.parse()?;
        let kind = match &value {
            _ if is_format => Kind::Format,
            Expr::Reference(reference) if reference.mutability.is_some() => Kind::Target,
            _ => Kind::Operand,
        };
        Ok(Argument { name, kind, value })
    }
}

/// Evaluates a program of index notation on tensors: `einsum!("y(i) = A(i,j) * x(j)", A = &a, x = &x)?`.
///
/// Each tensor that is read is given as `name = operand`: a tensor, a number, a slice, or any other `Operand`. The format of a
/// result may be given as `name: format`. A second text is a schedule.
///
/// It gives the result of the last statement, as `Result<DynTensor, Error>`; with `-> Type` behind the arguments, a
/// `Result<Type, Error>` of a type that is a `FromResult`: `Tensor<f64>`, `f64`, `Vec<f64>`. A result may be put into a tensor
/// instead, `y = &mut y`, whose format it has then, and whose memory is used again if it is dense; if that is the result of the
/// last statement, the macro gives `Result<(), Error>`. A statement with `+=` adds to the earlier values.
///
/// A program or a schedule that does not parse, and names that are missing, unknown or given twice are compile errors that
/// show the program.
#[proc_macro]
pub fn einsum(input: TokenStream) -> TokenStream {
    expanded(input.into()).unwrap_or_else(|error| error.to_compile_error()).into()
}

fn expanded(input: Tokens) -> syn::Result<Tokens> {
    let (arguments, wanted) = without_type(input);
    let Einsum { source, schedule, arguments } = syn::parse2(arguments)?;
    let wanted: Option<Type> = wanted.map(syn::parse2).transpose()?;
    let name = |argument: &Argument| {
        let Argument { name, kind, .. } = argument;
        Name { text: name.to_string(), span: name.span(), kind: *kind }
    };
    let names: Vec<Name> = arguments.iter().map(name).collect();
    let Checked { adds, puts_last } = check(&source.value(), &names)
        .map_err(|mistake| syn::Error::new(mistake.span.unwrap_or(source.span()), mistake.message))?;
    let schedule = schedule.unwrap_or_else(|| LitStr::new("", source.span()));
    let errors = lacunar_front::schedule::parse(&schedule.value()).1;
    if !errors.is_empty() {
        let text = schedule.value();
        let rendered = errors.iter().map(|error| error.for_library().render(&text, "schedule", false));
        return Err(syn::Error::new(schedule.span(), rendered.collect::<String>()));
    }
    if let (true, Some(wanted)) = (puts_last, &wanted) {
        let message = "the result is put into a tensor (`&mut`), and so is not given as a type";
        return Err(syn::Error::new_spanned(wanted, message));
    }
    let of = |kind: Kind| arguments.iter().zip(&adds).filter(move |(argument, _)| argument.kind == kind);
    let given = of(Kind::Operand).map(|(Argument { name, value, .. }, _)| {
        let name = name.to_string();
        // An argument that is no operand is reported at its place.
        quote_spanned! { value.span() => (#name, &(#value) as &dyn ::lacunar::Operand) }
    });
    let targets = of(Kind::Target).map(|(Argument { name, value, .. }, adds)| {
        let name = name.to_string();
        quote! { ::lacunar::einsum::Target { name: #name, adds: #adds, tensor: #value } }
    });
    let formats = of(Kind::Format).map(|(Argument { name, value, .. }, _)| {
        let name = name.to_string();
        quote! { (#name, #value) }
    });
    let call = quote! {
        &::lacunar::einsum::Call {
            source: #source,
            schedule: #schedule,
            given: &[#(#given),*],
            formats: &[#(#formats),*],
        },
        &mut [#(#targets),*],
    };
    Ok(match wanted {
        _ if puts_last => quote! { ::lacunar::einsum::evaluate(#call).map(|_| ()) },
        Some(wanted) => {
            quote! { ::lacunar::einsum::result::<#wanted>(#call) }
        }
        None => quote! { ::lacunar::einsum::result::<::lacunar::DynTensor>(#call) },
    })
}

/// The arguments, and the tokens behind the last arrow that is inside of no parentheses.
fn without_type(input: Tokens) -> (Tokens, Option<Tokens>) {
    let tokens: Vec<TokenTree> = input.into_iter().collect();
    let is = |place: usize, character: char| match tokens.get(place) {
        Some(TokenTree::Punct(punct)) => (punct.as_char() == character).then(|| punct.spacing()),
        _ => None,
    };
    let arrow = |place: &usize| is(*place, '-') == Some(Spacing::Joint) && is(*place + 1, '>').is_some();
    match (0..tokens.len()).rev().find(arrow) {
        Some(place) => {
            let wanted = tokens[place + 2..].iter().cloned().collect();
            (tokens[..place].iter().cloned().collect(), Some(wanted))
        }
        None => (tokens.into_iter().collect(), None),
    }
}
