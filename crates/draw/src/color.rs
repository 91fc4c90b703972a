//! Colors of pictures, and the perceptually even map from counts to colors.
//!
//! The map is viridis (van der Walt and Smith 2015, released into the public domain): its lightness falls evenly, also
//! in print and for color-blind readers. It runs from light to dark here, so that dense looks dark as ink does, and its
//! palest part is left out, so that a lone entry stands out from white paper.
//!
//! `ramp(0.0)` is a light green and `ramp(1.0)` the dark purple that viridis starts with.

/// An opaque color.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Color {
    /// Red, green and blue, in sRGB.
    pub rgb: [u8; 3],
}

impl Color {
    /// Text and frames.
    pub const INK: Color = Color { rgb: [0x22, 0x22, 0x22] };
    /// Text of second importance.
    pub const FAINT: Color = Color { rgb: [0x66, 0x66, 0x66] };
    /// Stored places that are no entries.
    pub const FILLED: Color = Color { rgb: [0xe2, 0xe2, 0xe6] };
    /// Lines that help to read values.
    pub const GRID: Color = Color { rgb: [0xdd, 0xdd, 0xdd] };
    /// Paper.
    pub const WHITE: Color = Color { rgb: [0xff, 0xff, 0xff] };

    /// The color `0xrrggbb`.
    pub const fn new(number: u32) -> Color {
        let [_, red, green, blue] = number.to_be_bytes();
        Color { rgb: [red, green, blue] }
    }

    /// Reads `#rrggbb`; `None` for other text.
    pub fn from_hex(text: &str) -> Option<Color> {
        let digits = text.strip_prefix('#').filter(|digits| digits.len() == 6)?;
        u32::from_str_radix(digits, 16).ok().map(Color::new)
    }

    /// The color as `#rrggbb`.
    pub fn hex(self) -> String {
        let [red, green, blue] = self.rgb;
        format!("#{red:02x}{green:02x}{blue:02x}")
    }
}

/// Viridis at 0, 1/16, ..., 1.
const VIRIDIS: [[u8; 3]; 17] = [
    [68, 1, 84],
    [72, 24, 106],
    [71, 45, 123],
    [66, 64, 134],
    [59, 82, 139],
    [51, 99, 141],
    [44, 114, 142],
    [38, 130, 142],
    [33, 145, 140],
    [31, 160, 136],
    [40, 174, 128],
    [63, 188, 115],
    [94, 201, 98],
    [132, 212, 75],
    [173, 220, 48],
    [216, 226, 25],
    [253, 231, 37],
];

/// The place on viridis at which the ramp starts.
const PALEST: f64 = 0.76;

/// The color at `t` of the ramp, from light at 0 to dark at 1. Values outside are taken as the nearer end.
pub fn ramp(t: f64) -> Color {
    let place = (1.0 - t.clamp(0.0, 1.0)) * PALEST * (VIRIDIS.len() - 1) as f64;
    let below = (place as usize).min(VIRIDIS.len() - 2);
    let part = place - below as f64;
    let (low, high) = (VIRIDIS[below], VIRIDIS[below + 1]);
    let mix = |channel: usize| (f64::from(low[channel]) * (1.0 - part) + f64::from(high[channel]) * part).round() as u8;
    Color { rgb: [mix(0), mix(1), mix(2)] }
}

/// The ends of the warm ramp: orange beside the greens and purples of [`ramp`], which color-blind readers tell from them.
const WARM: [[u8; 3]; 2] = [[0xfd, 0xbe, 0x78], [0xc2, 0x4e, 0x00]];

/// The color at `t` of a ramp from light to dark orange. Values outside are taken as the nearer end.
pub fn warm_ramp(t: f64) -> Color {
    let part = t.clamp(0.0, 1.0);
    let [light, dark] = WARM;
    let mix =
        |channel: usize| (f64::from(light[channel]) * (1.0 - part) + f64::from(dark[channel]) * part).round() as u8;
    Color { rgb: [mix(0), mix(1), mix(2)] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ramp_darkens() {
        let light = |color: Color| color.rgb.iter().map(|&c| u32::from(c)).sum::<u32>();
        let steps: Vec<u32> = (0..=20).map(|k| light(ramp(f64::from(k) / 20.0))).collect();
        assert!(steps.windows(2).all(|pair| pair[0] >= pair[1]), "{steps:?}");
        assert_eq!(ramp(7.0), ramp(1.0));
        assert_eq!(ramp(f64::NAN).rgb.len(), 3);
    }

    #[test]
    fn warm_ramp_darkens_and_is_no_color_of_the_other() {
        let light = |color: Color| color.rgb.iter().map(|&c| u32::from(c)).sum::<u32>();
        let steps: Vec<Color> = (0..=20).map(|k| warm_ramp(f64::from(k) / 20.0)).collect();
        assert!(steps.windows(2).all(|pair| light(pair[0]) >= light(pair[1])), "{steps:?}");
        // Red is the strongest here, and the weakest or next to it there.
        let reddest = |color: Color| color.rgb[0] > color.rgb[1].max(color.rgb[2]);
        assert!(steps.iter().all(|&color| reddest(color)));
        assert!((0..=20).all(|k| !reddest(ramp(f64::from(k) / 20.0))));
    }

    #[test]
    fn hex_round_trips() {
        assert_eq!(Color::from_hex("#4c72b0").map(Color::hex).as_deref(), Some("#4c72b0"));
        assert_eq!(Color::from_hex("4c72b0"), None);
        assert_eq!(Color::from_hex("#+c72b0g"), None);
    }
}
