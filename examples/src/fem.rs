//! Linear finite elements on a triangle mesh (Strang and Fix, "An Analysis of the Finite Element Method", 1973; Braess,
//! "Finite Elements", chapter II).
//!
//! To node `i` belongs the *hat function* `φᵢ`: 1 at the node, 0 at every other, linear on each triangle. On the
//! counter-clockwise triangle with corners `p₀ p₁ p₂` and area `a`, its gradient is constant:
//!
//! ```text
//!   ∇φ₀ = (y₁ - y₂, x₂ - x₁) / 2a        and cyclically
//!   ∫ φᵢ = a / 3     ∫ φᵢ φⱼ = a / 12 (a / 6 where i = j)
//! ```
//!
//! Summed over the triangles, this gives, for the whole domain,
//!
//! | name | entries | what holds, up to rounding |
//! |---|---|---|
//! | stiffness | `Kᵢⱼ = ∫ ∇φᵢ · ∇φⱼ` | symmetric; rows sum to 0, as the hats sum to 1 |
//! | mass | `Mᵢⱼ = ∫ φᵢ φⱼ` | symmetric; all entries sum to the area |
//! | load | `Fᵢ = ∫ φᵢ` | the row sums of the mass matrix |
//! | convection | `Tᵢⱼₖ = ∫ φᵢ ∂φⱼ/∂x φₖ` | `Tᵢⱼₖ = Tₖⱼᵢ`; `Σⱼ xⱼ Tᵢⱼₖ = Mᵢₖ`, as `x` has derivative 1 |
//!
//! No boundary condition is imposed (the natural one of Neumann holds), so the stiffness matrix is singular: its kernel
//! is the constant functions.

use crate::delaunay::twice_area;
use crate::files::{write_symmetric, write_tensor, write_vector};
use crate::mesh::{Mesh, MeshSize, SIDE};
use anyhow::Result;
use clap::ValueEnum;
use std::collections::BTreeMap;
use std::io::Write;

/// The lower triangle of a symmetric matrix: `(row, column)` with `row >= column`, to value.
pub type SymmetricMatrix = BTreeMap<[usize; 2], f64>;

/// The entries of a tensor of order 3, by coordinates.
pub type Tensor3 = BTreeMap<[usize; 3], f64>;

/// The quantities that can be written; the table at the head of this file defines each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Quantity {
    /// The stiffness matrix.
    Stiffness,
    /// The mass matrix.
    Mass,
    /// The load vector of the right-hand side 1.
    Load,
    /// The convection tensor in direction x.
    Convection,
}

/// Makes a mesh and writes one quantity of it, with a comment that says how it was made.
pub fn write_quantity(out: &mut impl Write, quantity: Quantity, size: MeshSize) -> Result<()> {
    let mesh = Mesh::l_shape(size)?;
    let (name, meaning) = match quantity {
        Quantity::Stiffness => ("stiffness", "Stiffness matrix of the Poisson problem"),
        Quantity::Mass => ("mass", "Mass matrix"),
        Quantity::Load => ("load", "Load vector of the right-hand side 1"),
        Quantity::Convection => {
            ("convection", "Convection tensor (integral of f_i df_j/dx f_k over the hat functions f)")
        }
    };
    let comment = format!(
        "{meaning}, linear triangles on an irregular mesh\n\
         of an L-shaped domain: {} nodes, {} triangles, natural boundary condition.\n\
         Written by: cargo run -p lacunar-examples --bin fem -- {name} --cells {} --levels {}",
        mesh.points.len(),
        mesh.triangles.len(),
        size.cells,
        size.levels
    );
    let nodes = mesh.points.len();
    match quantity {
        Quantity::Stiffness => write_symmetric(out, &comment, nodes, &stiffness(&mesh))?,
        Quantity::Mass => write_symmetric(out, &comment, nodes, &mass(&mesh))?,
        Quantity::Load => write_vector(out, &comment, &load(&mesh))?,
        Quantity::Convection => write_tensor(out, &comment, &convection(&mesh))?,
    }
    Ok(())
}

/// A triangle with the data that the integrals need.
struct Element {
    nodes: [usize; 3],
    /// Component x of `2a ∇φ` of each corner, in units of 1 / [`SIDE`].
    slope_x: [i64; 3],
    /// Component y, likewise.
    slope_y: [i64; 3],
    /// Twice the area, in units of 1 / [`SIDE`]².
    twice_area: i64,
}

impl Element {
    fn area(&self) -> f64 {
        self.twice_area as f64 / (2 * SIDE * SIDE) as f64
    }

    /// `∫ φᵢ φⱼ` for the local corners `i` and `j`.
    fn mass(&self, i: usize, j: usize) -> f64 {
        self.area() / if i == j { 6.0 } else { 12.0 }
    }
}

/// The stiffness matrix of the Poisson problem, which does not depend on the unit of length.
pub fn stiffness(mesh: &Mesh) -> SymmetricMatrix {
    symmetric(mesh, |element, i, j| {
        let product = element.slope_x[i] * element.slope_x[j] + element.slope_y[i] * element.slope_y[j];
        product as f64 / (2 * element.twice_area) as f64
    })
}

/// The mass matrix.
pub fn mass(mesh: &Mesh) -> SymmetricMatrix {
    symmetric(mesh, Element::mass)
}

/// The load vector of the right-hand side 1.
pub fn load(mesh: &Mesh) -> Vec<f64> {
    let mut vector = vec![0.0; mesh.points.len()];
    for element in elements(mesh) {
        for node in element.nodes {
            vector[node] += element.area() / 3.0;
        }
    }
    vector
}

/// The convection tensor in direction x. On a triangle the area cancels: `Tᵢⱼₖ` is the x-slope of corner `j` over 24
/// (12 where `i = k`). So whole numbers are summed, and sums that vanish, as `Tᵢᵢᵢ` does at an inner node, are exactly
/// zero and left out.
pub fn convection(mesh: &Mesh) -> Tensor3 {
    let mut sums: BTreeMap<[usize; 3], i64> = BTreeMap::new();
    for element in elements(mesh) {
        for (i, j, k) in (0..27).map(|n| (n / 9, n / 3 % 3, n % 3)) {
            let slope = element.slope_x[j] * if i == k { 2 } else { 1 };
            *sums.entry([i, j, k].map(|corner| element.nodes[corner])).or_default() += slope;
        }
    }
    let unit = (24 * SIDE) as f64;
    sums.into_iter().filter(|&(_, sum)| sum != 0).map(|(place, sum)| (place, sum as f64 / unit)).collect()
}

/// Sums `local` over the pairs of corners of every triangle, keeping the lower triangle.
fn symmetric(mesh: &Mesh, local: impl Fn(&Element, usize, usize) -> f64) -> SymmetricMatrix {
    let mut matrix = SymmetricMatrix::new();
    for element in elements(mesh) {
        for (i, j) in (0..9).map(|n| (n / 3, n % 3)) {
            let [row, column] = [element.nodes[i], element.nodes[j]];
            if row >= column {
                *matrix.entry([row, column]).or_default() += local(&element, i, j);
            }
        }
    }
    matrix
}

fn elements(mesh: &Mesh) -> impl Iterator<Item = Element> + '_ {
    mesh.triangles.iter().map(|&nodes| {
        let [a, b, c] = nodes.map(|node| mesh.points[node]);
        Element {
            nodes,
            slope_x: [b.y - c.y, c.y - a.y, a.y - b.y],
            slope_y: [c.x - b.x, a.x - c.x, b.x - a.x],
            twice_area: twice_area(a, b, c),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mesh() -> Mesh {
        Mesh::l_shape(MeshSize { cells: 5, levels: 2 }).expect("the size is allowed")
    }

    /// `y = A x` for a matrix of which the lower triangle is stored.
    fn multiply(matrix: &SymmetricMatrix, x: &[f64]) -> Vec<f64> {
        let mut y = vec![0.0; x.len()];
        for (&[row, column], &value) in matrix {
            y[row] += value * x[column];
            if row != column {
                y[column] += value * x[row];
            }
        }
        y
    }

    fn dot(x: &[f64], y: &[f64]) -> f64 {
        x.iter().zip(y).map(|(x, y)| x * y).sum()
    }

    #[track_caller]
    fn assert_close(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-12, "{found} is not {expected}");
    }

    #[test]
    fn reference_triangle() {
        // The corners (0,0), (1,0), (0,1), whose stiffness matrix every textbook prints.
        let points = [(0, 0), (SIDE, 0), (0, SIDE)].map(|(x, y)| crate::delaunay::Point { x, y }).to_vec();
        let matrix = stiffness(&Mesh { points, triangles: vec![[0, 1, 2]] });
        let expected = [([0, 0], 1.0), ([1, 0], -0.5), ([1, 1], 0.5), ([2, 0], -0.5), ([2, 1], 0.0), ([2, 2], 0.5)];
        assert_eq!(matrix, SymmetricMatrix::from(expected));
    }

    #[test]
    fn energy_of_linear_functions_is_exact() {
        // The gradient of x is (1, 0), so its energy is the area of the domain, 3; that of a constant is 0.
        let mesh = mesh();
        let matrix = stiffness(&mesh);
        let x: Vec<f64> = mesh.points.iter().map(|p| p.x as f64 / SIDE as f64).collect();
        let y: Vec<f64> = mesh.points.iter().map(|p| p.y as f64 / SIDE as f64).collect();
        assert_close(dot(&x, &multiply(&matrix, &x)), 3.0);
        assert_close(dot(&y, &multiply(&matrix, &y)), 3.0);
        assert_close(dot(&x, &multiply(&matrix, &y)), 0.0);
        multiply(&matrix, &vec![1.0; x.len()]).into_iter().for_each(|sum| assert_close(sum, 0.0));
    }

    #[test]
    fn mass_and_load_integrate() {
        let mesh = mesh();
        let ones = vec![1.0; mesh.points.len()];
        let sums = multiply(&mass(&mesh), &ones);
        sums.iter().zip(load(&mesh)).for_each(|(&sum, load)| assert_close(sum, load));
        assert_close(sums.iter().sum(), 3.0);
    }

    #[test]
    fn convection_of_x_is_the_mass_matrix() {
        let mesh = mesh();
        let tensor = convection(&mesh);
        let mut contracted: BTreeMap<[usize; 2], f64> = BTreeMap::new();
        for (&[i, j, k], &value) in &tensor {
            assert_close(value, tensor[&[k, j, i]]);
            *contracted.entry([i, k]).or_default() += value * (mesh.points[j].x as f64 / SIDE as f64);
        }
        let mass = mass(&mesh);
        for (&[i, k], &value) in &contracted {
            assert_close(value, mass[&[i.max(k), i.min(k)]]);
        }
    }
}
