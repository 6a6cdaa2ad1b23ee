//! Writing to a raw disk, and making or wiping what is on one.

use alloc::format;

use crate::finding::Finding;
use crate::hook::analysis::Command;
use crate::places::{is_disk, overwritten};
use crate::text::{shown, Text};

const RULE: &str = "disk";

pub fn judge(_: &Text, c: &Command) -> Option<Finding> {
    let redirected = c.redirects.iter().filter(|r| r.op.contains('>')).map(|r| r.target.text.as_str()).find(|p| is_disk(p));
    let disk = redirected.or_else(|| argument(c))?;
    Some(Finding::block(RULE, format!("{} would write to the disk {}", shown(&c.name), disk)))
}

/// Programs that change a disk whose name is among their arguments.
fn argument(c: &Command) -> Option<&str> {
    let all = || c.args().iter().map(|w| w.text.as_str());
    let name = c.name.as_str();
    let formats = name == "mkfs" || name.starts_with("mkfs.") || name.starts_with("newfs") || name.starts_with("mke2fs");
    if formats || ["mkswap", "wipefs", "blkdiscard"].contains(&name) {
        return all().find(|p| is_disk(p));
    }
    if ["fdisk", "sfdisk", "cfdisk", "gdisk", "sgdisk", "parted"].contains(&name) {
        let looks = c.has_flag('l', &["list"]) || c.has_flag('d', &["dump"]) || c.has_flag('p', &["print"]) || all().any(|w| w == "print");
        return all().find(|p| is_disk(p) && !looks);
    }
    overwritten(c).find(|p| is_disk(p))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::places::tests::command;

    #[test]
    fn disks() {
        for (line, want) in [
            ("mkfs.ext4 -F /dev/sdb1", true),
            ("mkfs.vfat -C boot.img 65536", false),
            ("fdisk -l /dev/sda", false),
            ("fdisk /dev/vdb", true),
            ("sponge /dev/mmcblk1", true),
            ("dd if=/dev/sda of=disk.img", false),
        ] {
            assert_eq!(argument(&command(line)).is_some(), want, "{line}");
        }
    }
}
