//! Raw disks.

use super::{glob, Place};
use protected_files::search::{has, lower};

/// The beginnings of the names of disks in `/dev`, each with an example for patterns.
const DISKS: [(&str, &str); 17] = [
    ("sd", "sda"),
    ("hd", "hda"),
    ("vd", "vda"),
    ("xvd", "xvda"),
    ("nvme", "nvme0n1"),
    ("mmcblk", "mmcblk0"),
    ("disk", "disk0"),
    ("rdisk", "rdisk0"),
    ("md", "md0"),
    ("dm-", "dm-0"),
    ("nbd", "nbd0"),
    ("bcache", "bcache0"),
    ("zd", "zd0"),
    ("drbd", "drbd0"),
    ("ada", "ada0"),
    ("da", "da0"),
    ("dasd", "dasda"),
];

/// Directories of `/dev` in which everything is a disk.
const DIRS: [&str; 8] = ["mapper", "disk", "md", "zvol", "block", "nvme-fabrics", "drbd", "bcache"];

impl Place {
    /// A raw block device.
    pub fn is_disk(&self) -> bool {
        if has(&lower(&self.path), "physicaldrive") {
            return true;
        }
        let dev = match self.path.strip_prefix("/dev/") {
            Some(dev) => dev,
            None => return false,
        };
        let (first, rest) = dev.split_once('/').unwrap_or((dev, ""));
        if !rest.is_empty() {
            // A logical volume stands below the name of its group.
            return DIRS.contains(&first) && rest != "control" || first.starts_with("vg") || first.ends_with("vg");
        }
        if self.glob && first.contains(&['*', '?', '[', '{'][..]) {
            return DISKS.iter().any(|(start, name)| glob::matches(first, name) || first.starts_with(start));
        }
        DISKS.iter().any(|(start, _)| {
            first.strip_prefix(start).map_or(false, |unit| {
                unit.starts_with(|ch: char| ch.is_ascii_digit() || ch == '\u{1}' || ch.is_ascii_lowercase() && named_by_letter(start))
            })
        })
    }

    /// A device that a file system could be made on, whatever it is called.
    pub fn is_device(&self) -> bool {
        self.is_disk()
            || self.path.strip_prefix("/dev/").map_or(false, |dev| {
                !["null", "zero", "random", "urandom", "full", "stdin", "stdout", "stderr", "tty", "ptmx"].contains(&dev)
                    && !["loop", "ram", "zram", "fd/", "shm/", "pts/"].iter().any(|p| dev.starts_with(p))
            })
    }
}

/// Disks that have letters, and not numbers.
fn named_by_letter(start: &str) -> bool {
    matches!(start, "sd" | "hd" | "vd" | "xvd" | "dasd")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disks() {
        for (path, want) in [
            ("/dev/sda", true),
            ("/dev/sdb1", true),
            ("/dev/nvme0n1p2", true),
            ("/dev/mapper/vg0-root", true),
            ("/dev/mapper/control", false),
            ("/dev/disk/by-id/x", true),
            ("/dev/disk2", true),
            ("/dev/vg0/root", true),
            ("/dev/md127", true),
            ("/dev/null", false),
            ("/dev/zero", false),
            ("/dev/shm/x", false),
            ("/dev/loop0", false),
            ("/dev/tty1", false),
            ("/dev/mdev", false),
            ("dev/sda", false),
        ] {
            assert_eq!(Place { path: path.into(), ..Place::default() }.is_disk(), want, "{path}");
        }
        for (path, want) in [("/dev/s*", true), ("/dev/[sn]*", true), ("/dev/sd[a-c]", true), ("/dev/tty*", false)] {
            assert_eq!(Place { path: path.into(), glob: true, open: false }.is_disk(), want, "{path}");
        }
    }
}
