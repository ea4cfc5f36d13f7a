//! Why a page is not to be kept.

/// What a page or its server says against being kept, if it is listened to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Withheld {
    /// `noindex`: it is not to be found.
    Noindex = 1,
    /// `noarchive`: no copy of it is to be kept.
    Noarchive = 2,
}

impl Withheld {
    /// The one with this number.
    pub fn from_number(number: u32) -> Option<Self> {
        [Self::Noindex, Self::Noarchive]
            .into_iter()
            .find(|withheld| *withheld as u32 == number)
    }

    /// Its name, as printed and exported.
    pub fn name(self) -> &'static str {
        match self {
            Self::Noindex => "noindex",
            Self::Noarchive => "noarchive",
        }
    }
}
