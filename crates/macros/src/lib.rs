//! The macro `einsum!`: an expression checked for its grammar when the program is compiled, and evaluated when it runs.
//!
//! ```text
//! einsum!("y(i) = A(i,j) * x(j)", A = &a, x = &x)
//! einsum!("C(i,k) = A(i,j) * B(j,k)", A = &a, B = &b, C: Format::csr())
//! einsum!("y(i) = A(i,j) * x(j)", "split(i, i0, i1, 64), parallelize(i0, cpu)", A = &a, x = &x)
//! ```

use proc_macro::TokenStream;
use quote::quote;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Expr, Ident, LitStr, Token, parse_macro_input};

/// The arguments: a program, a schedule, tensors, and formats of results.
struct Einsum {
    source: LitStr,
    schedule: Option<LitStr>,
    arguments: Punctuated<Argument, Token![,]>,
}

/// `name = tensor` or `name: format`.
struct Argument {
    name: Ident,
    is_format: bool,
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
        Ok(Argument { name, is_format, value: input.parse()? })
    }
}

/// Evaluates a program of index notation on tensors: `einsum!("y(i) = A(i,j) * x(j)", A = &a, x = &x)?`.
///
/// Each tensor that is read is given as `name = tensor`; the format of a result may be given as `name: format`. A second
/// text is a schedule. Gives the result of the last statement, as `Result<DynTensor, Error>`. A program or a schedule that
/// does not parse is a compile error with the same message that the command prints.
#[proc_macro]
pub fn einsum(input: TokenStream) -> TokenStream {
    let Einsum { source, schedule, arguments } = parse_macro_input!(input as Einsum);
    let schedule = schedule.unwrap_or_else(|| LitStr::new("", source.span()));
    for (literal, name, diagnostics) in [
        (&source, "expression", lacunar_front::parse(&source.value()).1),
        (&schedule, "schedule", lacunar_front::schedule::parse(&schedule.value()).1),
    ] {
        if !diagnostics.is_empty() {
            let text = literal.value();
            let message: String = diagnostics.iter().map(|error| error.render(&text, name, false)).collect();
            return syn::Error::new(literal.span(), message).to_compile_error().into();
        }
    }
    let given = arguments.iter().filter(|argument| !argument.is_format).map(|argument| {
        let (name, value) = (argument.name.to_string(), &argument.value);
        quote! { (#name, ::lacunar::declare(#value)) }
    });
    let formats = arguments.iter().filter(|argument| argument.is_format).map(|argument| {
        let (name, value) = (argument.name.to_string(), &argument.value);
        quote! { (#name, #value) }
    });
    quote! { ::lacunar::evaluate_einsum(#source, #schedule, &[#(#given),*], &[#(#formats),*]) }.into()
}
