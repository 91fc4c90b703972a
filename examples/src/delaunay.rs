//! Delaunay triangulation of points in a square.
//!
//! A triangulation is *Delaunay* when no point lies strictly inside the circle through the corners of any triangle.
//! Points are inserted one by one (Bowyer, "Computing Dirichlet tessellations", 1981; Watson, "Computing the
//! n-dimensional Delaunay tessellation", 1981): the triangles whose circles contain the new point form a star-shaped
//! *cavity* around it; they are removed, and the cavity's border is joined to the point.
//!
//! ```text
//!   a-------b          a-------b      the circles of both triangles contain p,
//!   | \     |          | \   / |      so the cavity is the whole quadrilateral
//!   |   \ p |    ->    |   p   |
//!   |     \ |          | /   \ |
//!   c-------d          c-------d
//! ```
//!
//! Coordinates are integers and the two predicates are exact, so rounding can neither break the triangulation nor
//! make it differ between machines. On entry: the first four points are the square's corners, counter-clockwise; no
//! point lies outside the square or appears twice. On exit: the triangles cover the square, are counter-clockwise, and
//! every point is a corner of some triangle.

use std::collections::HashMap;

/// A point of the plane; coordinates stay within ±2^28, so that [`in_circle`] fits in 128 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Point {
    /// Vertical coordinate (first, so that points order row by row).
    pub y: i64,
    /// Horizontal coordinate.
    pub x: i64,
}

/// Corners of a triangle, counter-clockwise: indices into the points.
pub type Triangle = [usize; 3];

/// Joins the points of a square into triangles. The head of this file has the conditions of `points`.
pub fn triangulate(points: &[Point]) -> Vec<Triangle> {
    let mut mesh = Triangulation {
        points,
        corners: vec![[0, 1, 2], [0, 2, 3]],
        across: vec![[None, None, Some(1)], [Some(0), None, None]],
    };
    let mut last = 0;
    for point in 4..points.len() {
        last = mesh.insert(point, last);
    }
    mesh.corners
}

/// Twice the area of the triangle `a b c`: positive where it is counter-clockwise, zero where the points are on a line.
pub fn twice_area(a: Point, b: Point, c: Point) -> i64 {
    (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x)
}

/// True if `p` lies strictly inside the circle through the corners of the counter-clockwise triangle `a b c`. This is
/// the sign of the determinant whose rows are `(dx, dy, dx² + dy²)` of each corner seen from `p`.
pub fn in_circle([a, b, c]: [Point; 3], p: Point) -> bool {
    let row = |q: Point| {
        let (dx, dy) = (i128::from(q.x - p.x), i128::from(q.y - p.y));
        (dx, dy, dx * dx + dy * dy)
    };
    let ((ax, ay, aa), (bx, by, bb), (cx, cy, cc)) = (row(a), row(b), row(c));
    aa * (bx * cy - by * cx) - bb * (ax * cy - ay * cx) + cc * (ax * by - ay * bx) > 0
}

/// Edge `e` of a triangle runs from its corner `e` to its corner `e + 1`.
const NEXT: [usize; 3] = [1, 2, 0];

/// The triangles so far, and for each edge the triangle on its other side (none on the border of the square).
struct Triangulation<'a> {
    points: &'a [Point],
    corners: Vec<Triangle>,
    across: Vec<[Option<usize>; 3]>,
}

/// One edge of a cavity, the cavity on its left, and the triangle on its right.
struct BorderEdge {
    from: usize,
    to: usize,
    outside: Option<usize>,
}

impl Triangulation<'_> {
    /// Inserts `point`, searching from triangle `start`; returns one of the triangles around it.
    fn insert(&mut self, point: usize, start: usize) -> usize {
        let mut cavity = vec![self.containing(point, start)];
        let mut border = Vec::new();
        let mut done = 0;
        while done < cavity.len() {
            let triangle = cavity[done];
            done += 1;
            for edge in 0..3 {
                let outside = self.across[triangle][edge];
                match outside {
                    Some(other) if cavity.contains(&other) => {}
                    Some(other) if in_circle(self.corner_points(other), self.points[point]) => cavity.push(other),
                    _ => {
                        let corners = self.corners[triangle];
                        border.push(BorderEdge { from: corners[edge], to: corners[NEXT[edge]], outside });
                    }
                }
            }
        }
        self.fill(point, &cavity, &border)
    }

    /// Replaces the triangles of `cavity` by those that join its `border` to `point`.
    fn fill(&mut self, point: usize, cavity: &[usize], border: &[BorderEdge]) -> usize {
        let mut free = cavity.iter().copied();
        let mut starting_at = HashMap::new();
        for edge in border {
            // A point on the border of the square splits the edge it lies on, which needs no triangle.
            if twice_area(self.points[edge.from], self.points[edge.to], self.points[point]) == 0 {
                continue;
            }
            let triangle = free.next().unwrap_or_else(|| {
                self.corners.push([0; 3]);
                self.across.push([None; 3]);
                self.corners.len() - 1
            });
            self.corners[triangle] = [edge.from, edge.to, point];
            self.across[triangle] = [edge.outside, None, None];
            if let Some(outside) = edge.outside {
                let side = (0..3).find(|&side| self.corners[outside][side] == edge.to);
                if let Some(side) = side {
                    self.across[outside][side] = Some(triangle);
                }
            }
            starting_at.insert(edge.from, triangle);
        }
        for &triangle in starting_at.values() {
            let to = self.corners[triangle][1];
            if let Some(&next) = starting_at.get(&to) {
                self.across[triangle][1] = Some(next);
                self.across[next][2] = Some(triangle);
            }
        }
        cavity[0]
    }

    /// The triangle that contains `point`, found by walking from `start`: across any edge that has the point on its
    /// right. In a Delaunay triangulation such a walk visits no triangle twice (De Floriani et al., 1991).
    fn containing(&self, point: usize, start: usize) -> usize {
        let mut triangle = start;
        'walk: loop {
            let corners = self.corners[triangle];
            for edge in 0..3 {
                let (a, b) = (self.points[corners[edge]], self.points[corners[NEXT[edge]]]);
                if let Some(other) = self.across[triangle][edge]
                    && twice_area(a, b, self.points[point]) < 0
                {
                    triangle = other;
                    continue 'walk;
                }
            }
            return triangle;
        }
    }

    fn corner_points(&self, triangle: usize) -> [Point; 3] {
        self.corners[triangle].map(|corner| self.points[corner])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix64;

    const SQUARE: [Point; 4] =
        [Point { x: 0, y: 0 }, Point { x: 64, y: 0 }, Point { x: 64, y: 64 }, Point { x: 0, y: 64 }];

    fn check(points: &[Point]) {
        let triangles = triangulate(points);
        let area: i64 = triangles.iter().map(|t| twice_area(points[t[0]], points[t[1]], points[t[2]])).sum();
        assert_eq!(area, 2 * 64 * 64);
        for triangle in &triangles {
            let corners = triangle.map(|corner| points[corner]);
            assert!(twice_area(corners[0], corners[1], corners[2]) > 0);
            assert!(!points.iter().any(|&p| in_circle(corners, p)));
        }
        assert!((0..points.len()).all(|point| triangles.iter().any(|t| t.contains(&point))));
    }

    #[test]
    fn circle_of_a_right_angle() {
        let corners = [SQUARE[0], SQUARE[1], SQUARE[3]];
        assert!(in_circle(corners, Point { x: 63, y: 63 }));
        assert!(!in_circle(corners, SQUARE[2]), "on the circle is not inside");
        assert!(!in_circle(corners, Point { x: 65, y: 65 }));
    }

    #[test]
    fn regular_grid_with_all_its_ties() {
        let mut points = SQUARE.to_vec();
        for y in (0..=64).step_by(16) {
            for x in (0..=64).step_by(16) {
                if !SQUARE.contains(&Point { x, y }) {
                    points.push(Point { x, y });
                }
            }
        }
        check(&points);
    }

    #[test]
    fn random_points() {
        for seed in 0..20 {
            let mut random = SplitMix64::new(seed);
            let mut points = SQUARE.to_vec();
            for _ in 0..60 {
                let point = Point { x: random.below(65) as i64, y: random.below(65) as i64 };
                if !points.contains(&point) {
                    points.push(point);
                }
            }
            check(&points);
        }
    }
}
