//! [`Links`]: the hyperlinks of a screen.

use std::sync::Arc;

/// A screen has at most this many different hyperlinks; text of further ones is not linked.
pub const MAX_LINKS: usize = 500;

/// A hyperlink (OSC 8).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The parameters, such as `id=1`, by which terminals recognise the parts of one link.
    pub parameters: String,
    /// The target.
    pub uri: String,
}

/// The hyperlinks of a screen. Numbers begin at 1, since 0 stands for no link.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Links {
    /// `None` where a number is free.
    links: Vec<Option<Arc<Link>>>,
}

impl Links {
    /// The link of a number.
    pub(crate) fn get(&self, number: u16) -> Option<&Link> {
        self.links.get(usize::from(number).checked_sub(1)?)?.as_deref()
    }

    /// The number of `link`, if it is known.
    pub(crate) fn find(&self, link: &Link) -> Option<u16> {
        let index = self.links.iter().position(|known| known.as_deref() == Some(link))?;
        u16::try_from(index + 1).ok()
    }

    /// Adds `link`, and returns its number, or `None` if there is no room.
    pub(crate) fn add(&mut self, link: Link) -> Option<u16> {
        let free = self.links.iter().position(Option::is_none).unwrap_or(self.links.len());
        if free >= MAX_LINKS {
            return None;
        }
        if free == self.links.len() {
            self.links.push(None);
        }
        self.links[free] = Some(Arc::new(link));
        u16::try_from(free + 1).ok()
    }

    /// Removes the links whose numbers are not `used`: its element 0 stands for the number 1.
    pub(crate) fn retain(&mut self, used: &[bool]) {
        for (link, used) in self.links.iter_mut().zip(used) {
            if !used {
                *link = None;
            }
        }
    }

    /// For each number of these links, that of the same link in `others`, or `u16::MAX` if it has none.
    pub(crate) fn translation(&self, others: &Links) -> Vec<u16> {
        let number = |link: &Option<Arc<Link>>| link.as_deref().and_then(|link| others.find(link));
        self.links.iter().map(|link| number(link).unwrap_or(u16::MAX)).collect()
    }
}
