//! An irregular triangle mesh of an L-shaped domain.
//!
//! The domain is the square `[-1,1]²` without its lower right quarter. The Poisson problem on it has a singular gradient
//! at the corner that points inwards, which is why meshes of it are refined there (Strang and Fix, "An Analysis of
//! the Finite Element Method", 1973, chapter 8), and why it is the usual example of an irregular mesh:
//!
//! ```text
//!   +-------+-------+      Level 0 is a grid of `cells` by `cells` points in each of the three
//!   |       |       |      quarters; level k has half the spacing of level k-1, in a box of half
//!   |       |. . .  |      its size around the inner corner. Each point is then moved at random by
//!   +-------+-------+      up to 3/10 of its level's spacing (along the edge it lies on, if it
//!   |       |              lies on one), and the points of each quarter are joined by Delaunay's
//!   |       |              rule. The quarters share the points between them, so they fit together.
//!   +-------+
//! ```
//!
//! The points are numbered row by row. Nodes have from 2 to about 10 neighbors.

use crate::delaunay::{Point, Triangle, triangulate};
use crate::random::SplitMix64;
use anyhow::{Result, ensure};
use std::collections::HashMap;

/// Side of a quarter of the domain in units of the points' integer coordinates.
pub const SIDE: i64 = 1 << 26;

/// The fineness of a mesh.
#[derive(Clone, Copy, Debug)]
pub struct MeshSize {
    /// Spacings of the coarsest level along a quarter's side.
    pub cells: u32,
    /// The number of times that the spacing is halved towards the inner corner.
    pub levels: u32,
}

/// A conforming triangle mesh: no corner of a triangle lies inside another triangle's edge.
#[derive(Clone, Debug)]
pub struct Mesh {
    /// The nodes, in units of 1 / [`SIDE`].
    pub points: Vec<Point>,
    /// The triangles, counter-clockwise.
    pub triangles: Vec<Triangle>,
}

impl Mesh {
    /// The mesh of the L-shaped domain; the same for the same size, on every machine.
    pub fn l_shape(size: MeshSize) -> Result<Self> {
        ensure!((1..=2048).contains(&size.cells), "the number of cells must be from 1 to 2048");
        ensure!(size.levels <= 8, "the number of levels must be at most 8");
        let mut points = place(size);
        points.sort_unstable();
        let mut triangles = Vec::new();
        for (left, low) in [(-SIDE, -SIDE), (-SIDE, 0), (0, 0)] {
            triangles.extend(join_square(&points, left, low));
        }
        Ok(Self { points, triangles })
    }
}

/// Places the points of every level and moves them at random.
fn place(size: MeshSize) -> Vec<Point> {
    let cells = i64::from(size.cells);
    let mut random = SplitMix64::new(1851);
    let mut points = Vec::new();
    for level in 0..=size.levels {
        // The position of a point is `step` times its place (i, j) in the grid of its level.
        let step = |place: i64| place * (SIDE >> level) / cells;
        let spacing = (SIDE >> level) / cells;
        let is_finer = |i: i64, j: i64| level < size.levels && 2 * i.abs().max(j.abs()) <= cells;
        for j in -cells..=cells {
            for i in -cells..=cells {
                if (i > 0 && j < 0) || is_finer(i, j) {
                    continue;
                }
                let mut jitter = |coordinate: i64| {
                    let moved = random.below((6 * spacing / 10) as u64 + 1) as i64 - 3 * spacing / 10;
                    // A point on the domain's edge, or between two quarters, stays there.
                    if coordinate == 0 || coordinate.abs() == SIDE { coordinate } else { coordinate + moved }
                };
                points.push(Point { x: jitter(step(i)), y: jitter(step(j)) });
            }
        }
    }
    points
}

/// Triangulates those of `points` that lie in the quarter whose lower left corner is `(left, low)`.
fn join_square(points: &[Point], left: i64, low: i64) -> Vec<Triangle> {
    let (right, high) = (left + SIDE, low + SIDE);
    let square = [(left, low), (right, low), (right, high), (left, high)].map(|(x, y)| Point { x, y });
    let number: HashMap<Point, usize> = points
        .iter()
        .enumerate()
        .filter(|(_, p)| (left..=right).contains(&p.x) && (low..=high).contains(&p.y))
        .map(|(index, &p)| (p, index))
        .collect();
    let mut others: Vec<Point> = number.keys().copied().filter(|point| !square.contains(point)).collect();
    // Insertion in random order keeps the cavities small whatever the order of the points was.
    others.sort_unstable();
    SplitMix64::new(1934).shuffle(&mut others);
    let local: Vec<Point> = square.into_iter().chain(others).collect();
    triangulate(&local).into_iter().map(|triangle| triangle.map(|corner| number[&local[corner]])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delaunay::twice_area;

    fn check(size: MeshSize) -> Mesh {
        let mesh = Mesh::l_shape(size).expect("the size is allowed");
        let corners = |t: &Triangle| t.map(|corner| mesh.points[corner]);
        let areas: Vec<i64> = mesh.triangles.iter().map(corners).map(|[a, b, c]| twice_area(a, b, c)).collect();
        assert!(areas.iter().all(|&area| area > 0));
        assert_eq!(areas.iter().sum::<i64>(), 3 * 2 * SIDE * SIDE, "the triangles cover the domain once");
        // Euler's formula for a mesh without holes: nodes - edges + triangles = 1, an edge being counted once from
        // either side if two triangles share it.
        let mut edges: Vec<(usize, usize)> = mesh
            .triangles
            .iter()
            .flat_map(|&[a, b, c]| [(a, b), (b, c), (c, a)])
            .map(|(a, b)| (a.min(b), a.max(b)))
            .collect();
        edges.sort_unstable();
        edges.dedup();
        assert_eq!(mesh.points.len() + mesh.triangles.len(), edges.len() + 1);
        mesh
    }

    #[test]
    fn meshes_are_conforming() {
        for cells in 1..=6 {
            for levels in 0..=3 {
                check(MeshSize { cells, levels });
            }
        }
    }

    #[test]
    fn a_shipped_size_is_irregular() {
        let mesh = check(MeshSize { cells: 14, levels: 3 });
        let mut around = vec![0; mesh.points.len()];
        mesh.triangles.iter().flatten().for_each(|&corner| around[corner] += 1);
        assert!(around.iter().min() <= Some(&2) && around.iter().max() >= Some(&9));
    }

    #[test]
    fn sizes_out_of_range_are_refused() {
        assert!(Mesh::l_shape(MeshSize { cells: 0, levels: 0 }).is_err());
        assert!(Mesh::l_shape(MeshSize { cells: 2049, levels: 0 }).is_err());
        assert!(Mesh::l_shape(MeshSize { cells: 1, levels: 9 }).is_err());
    }
}
