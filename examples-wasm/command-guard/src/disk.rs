//! Writing to a raw disk, making or wiping what is on one, and removing volumes and pools.

use alloc::format;
use alloc::string::String;

use crate::args::{flag, long, operands, values};
use crate::find;
use crate::finding::Finding;
use crate::hook::analysis::{Command, Word};
use crate::places::{self, Place};
use crate::text::{shown, Text};
use crate::writes;
use protected_files::search::Case;

const RULE: &str = "disk";

pub fn judge(t: &Text, c: &Command) -> Option<Finding> {
    if let Some(w) = writes::of(t, c).into_iter().find(|w| w.place.is_disk() || removes_disk(&w.place)) {
        return Some(Finding::block(RULE, format!("{} would write to the disk {}", shown(&c.name), w.shown)));
    }
    if let Some(what) = listed(t, c) {
        return Some(Finding::block(RULE, format!("{} would write to a disk of {}", c.name, what)));
    }
    if let Some(what) = formats(t, c) {
        return Some(Finding::block(RULE, format!("{} would write to the disk {}", c.name, what)));
    }
    let verb = removes(c)?;
    Some(Finding::block(RULE, format!("{} {} would remove a volume or what is on it", c.name, verb)))
}

/// The disks that a listing hands on to a program that writes.
fn listed(t: &Text, c: &Command) -> Option<String> {
    let writes = matches!(c.name.as_str(), "dd" | "tee" | "cp" | "shred" | "wipefs" | "blkdiscard" | "sgdisk") || c.name.starts_with("mkfs");
    let open = |w: &&Word| (!w.known || w.text.contains("{}")) && (c.name != "dd" || w.text.starts_with("of="));
    if !writes || c.args().iter().filter(open).next().is_none() && (!c.args_open || c.name == "dd") {
        return None;
    }
    find::handing_on(t, c).into_iter().flat_map(|s| s.places).find(|p| p.is_disk() || p.path == "/dev").map(|p| p.path)
}

/// Files of the kernel that take a disk away.
fn removes_disk(p: &Place) -> bool {
    p.path.starts_with("/sys/") && p.path.contains("/block/") && p.path.ends_with("/device/delete")
}

/// The disk among the arguments of a program that makes, wipes or overwrites what is on one.
fn formats<'a>(t: &Text, c: &'a Command) -> Option<&'a str> {
    let has = |test: &dyn Fn(&Place) -> bool| c.args().iter().find(|w| test(&places::of(t, c, w))).map(|w| w.text.as_str());
    let disk = || has(&|p| p.is_disk());
    let device = || has(&|p| p.is_device());
    let name = c.name.as_str();
    let starts = |list: &[&str]| list.iter().any(|p| name.starts_with(p));
    let verb = |list: &[&str]| c.args().iter().any(|w| list.contains(&w.text.as_str()));
    if starts(&["mkfs", "newfs", "mke2fs", "mkntfs", "mkdosfs", "mkexfatfs", "mkudffs", "mkreiserfs"]) {
        return if flag(c, 'n', "dry-run") && name.starts_with("mke2fs") { None } else { device() };
    }
    match name {
        "mkswap" | "blkdiscard" | "sg_format" | "sg_unmap" | "sg_write_same" | "sg_sanitize" | "scrub" | "nwipe" | "shred" | "wipe"
        | "pvcreate" | "vgcreate" | "vgextend" | "ddrescue" | "dd_rescue" | "bcache" | "make-bcache" | "f3probe" | "flashrom" => device(),
        "systemd-repart" | "repart" if values(c, &["--dry-run"]).iter().any(|v| matches!(*v, "no" | "false" | "0" | "off")) => disk(),
        "ceph-volume" if verb(&["zap", "create", "prepare", "batch"]) => disk(),
        // The last operand is written; with -I the first one is.
        "e2image" if c.has_flag('I', &[]) => device(),
        "e2image" => {
            let words = operands(c, "bBoOc", &[]);
            words.last().filter(|w| words.len() > 1 && places::of(t, c, w).is_disk()).map(|w| w.text.as_str())
        }
        "cgdisk" | "cfdisk" => disk(),
        "gdisk" | "fdisk" if !(c.has_flag('l', &["list"]) || c.has_flag('x', &["list-details"]) || c.has_flag('s', &["getsz"])) => disk(),
        "sfdisk" if !["list", "dump", "json", "show-size", "show-geometry", "verify", "list-free", "list-types"].iter().any(|o| long(c, o))
            && !"ldJsgVFTr".chars().any(|ch| c.has_flag(ch, &[]) && !long(c, "delete")) =>
        {
            disk()
        }
        "sgdisk" if c.args().iter().any(|w| changes_table(&w.text)) => disk(),
        "parted" | "gparted" => {
            let looks = flag(c, 'l', "list") || verb(&["print", "p", "unit", "align-check", "help", "version"]);
            let acts = verb(&["mklabel", "mktable", "mkpart", "rm", "resizepart", "rescue", "mkfs", "mkpartfs", "move", "cp", "set", "name"]);
            if looks && !acts { None } else { disk() }
        }
        "wipefs" if flag(c, 'a', "all") || flag(c, 'o', "offset") => if flag(c, 'n', "no-act") { None } else { device() },
        "badblocks" if c.has_flag('w', &[]) => device(),
        "hdparm" if ["--security-erase", "--security-erase-enhanced", "--trim-sector-ranges", "--make-bad-sector", "--write-sector",
            "--repair-sector", "--sanitize-block-erase", "--sanitize-overwrite", "--sanitize-crypto-scramble", "--fwdownload"]
            .iter().any(|o| c.args().iter().any(|w| w.text.starts_with(o))) => disk(),
        "nvme" if verb(&["format", "sanitize", "write", "write-zeroes", "write-uncor", "dsm", "delete-ns", "fw-download"]) => device(),
        "veracrypt" | "truecrypt" if c.has_flag('c', &["create"]) => device(),
        "cryptsetup" | "veracrypt" | "integritysetup" | "veritysetup" if verb(&["luksFormat", "luksErase", "erase", "reencrypt", "luksKillSlot", "luksRemoveKey", "format"])
            || c.args().iter().any(|w| w.text.eq_ignore_ascii_case("plainopen")) => device(),
        "mdadm" if long(c, "create") || long(c, "zero-superblock") || c.has_flag('C', &[]) || long(c, "build") || long(c, "remove") => device(),
        "fio" if c.args().iter().any(|w| w.text.contains("write") || w.text.contains("trim")) => {
            values(c, &["--filename"]).into_iter().find(|v| places::named(t, c, v).is_disk())
        }
        "debugfs" if c.has_flag('w', &[]) => device(),
        "fsarchiver" if verb(&["restfs", "restdir"]) => {
            let to = |w: &&Word| w.text.split(',').filter_map(|p| p.strip_prefix("dest=")).any(|d| places::named(t, c, d).is_disk());
            c.args().iter().find(to).map(|w| w.text.as_str())
        }
        "socat" => {
            let written = |text: &str| {
                let (kind, rest) = text.split_once(':').unwrap_or(("", text));
                let kind = kind.to_ascii_uppercase();
                let file = rest.split(',').next().unwrap_or("");
                matches!(kind.as_str(), "OPEN" | "FILE" | "GOPEN" | "CREATE" | "CREAT" | "") && places::named(t, c, file).is_disk()
                    && !text.contains("rdonly")
            };
            // With -u the first address is read only, with -U the second.
            let words: alloc::vec::Vec<&Word> = operands(c, "btTLWlSrR", &[]);
            let skip = usize::from(c.has_flag('u', &[]));
            words.into_iter().skip(skip).find(|w| written(&w.text)).map(|w| w.text.as_str())
        }
        "diskutil" => None,
        "partimage" | "fsarchiver" | "bmaptool" | "restore" | "balena" | "etcher" | "ocs-sr" | "rpi-imager"
            if verb(&["restore", "restfs", "copy", "local", "restoredisk", "restoreparts", "--cli"]) => disk(),
        _ => None,
    }
}

/// Whether an option of sgdisk changes the partition table; others print.
fn changes_table(option: &str) -> bool {
    match option.strip_prefix("--") {
        Some(long) => {
            let long = long.split('=').next().unwrap_or("");
            !["print", "info", "first-in-largest", "end-of-largest", "backup", "display-alignment", "list-types", "verify", "pretend", "version",
                "help", "print-mbr", "first-aligned-in-largest"].contains(&long)
        }
        None => option.len() > 1 && option.starts_with('-') && !option[1..].starts_with(&['p', 'i', 'f', 'F', 'E', 'b', 'D', 'L', 'v', 'P', 'V', 'O', '?'][..]),
    }
}

/// The verb by which a manager of volumes removes one, or makes a new one over what is there.
fn removes(c: &Command) -> Option<&str> {
    let name = c.name.as_str();
    let words: &[Word] = c.args();
    let word = |i: usize| words.iter().filter(|w| !w.text.starts_with('-')).nth(i).map_or("", |w| w.text.as_str());
    let (first, second) = (word(0), word(1));
    let found = match name {
        "lvremove" | "vgremove" | "pvremove" | "lvreduce" | "vgreduce" | "zpool-destroy" => return Some("by itself"),
        "lvm" => matches!(first, "lvremove" | "vgremove" | "pvremove" | "lvreduce" | "vgreduce" | "pvcreate" | "vgcreate"),
        "zpool" => match first {
            "destroy" | "labelclear" | "split" | "remove" => true,
            "create" => !operands(c, "oOmRt", &[]).iter().skip(2).all(|w| is_image(&w.text)),
            _ => false,
        },
        "zfs" => matches!(first, "destroy" | "rollback") && !(c.has_flag('n', &[])),
        "btrfs" => {
            let verb = (abbreviates(first, "subvolume") || first == "sub") && abbreviates(second, "delete")
                || abbreviates(first, "device") && (abbreviates(second, "delete") || abbreviates(second, "remove"));
            return if verb { Some("delete") } else { None };
        }
        "dmsetup" => matches!(first, "remove" | "remove_all" | "wipe_table" | "clear"),
        "diskutil" => {
            let first = first.lowered();
            let second = second.lowered();
            let destroys = |v: &str| {
                v.starts_with("erase") || v.starts_with("delete") || v.starts_with("zero") || v.starts_with("secureerase") || v.starts_with("random")
                    || v.starts_with("partition") || v.starts_with("reformat") || v.starts_with("split") || v.starts_with("merge") || v == "resetfusion"
            };
            destroys(&first) || ["apfs", "ap", "corestorage", "cs", "appleraid", "ar", "coreraid"].contains(&first.as_str()) && (destroys(&second) || second == "create")
        }
        "asr" => flag(c, '\0', "erase") || words.iter().any(|w| w.text == "-erase"),
        "format" | "format.com" | "format.exe" => words.iter().any(|w| {
            let b = w.text.as_bytes();
            b.len() == 2 && b[0].is_ascii_alphabetic() && b[1] == b':'
        }),
        "Format-Volume" | "Clear-Disk" | "Initialize-Disk" | "Remove-Partition" | "Remove-VirtualDisk" | "Remove-StoragePool" | "Remove-Volume" => {
            return Some("by itself")
        }
        "diskpart" => c.stdin.is_some() || c.stdin_from.is_some() || flag(c, 's', "script") || words.iter().any(|w| w.text.eq_ignore_ascii_case("/s")),
        "stratis" => matches!((first, second), ("pool" | "filesystem" | "fs", "destroy")),
        "ceph" => matches!((first, second), ("osd", "destroy" | "purge" | "lost")) || first == "osd" && second == "pool" && matches!(word(2), "delete" | "rm") || first == "fs" && matches!(second, "rm" | "remove"),
        "rados" => matches!(first, "rmpool" | "purge"),
        "gluster" => first == "volume" && matches!(second, "delete" | "remove-brick" | "reset-brick"),
        "drbdadm" => matches!(first, "wipe-md" | "create-md" | "invalidate"),
        "vdo" => matches!(first, "remove" | "create"),
        "gpart" => matches!(first, "destroy" | "create" | "delete"),
        "geli" => matches!(first, "init" | "kill" | "delkey"),
        "rbd" => matches!(first, "rm" | "remove") || first == "trash" && second == "purge",
        _ => false,
    };
    if !found {
        return None;
    }
    words.iter().map(|w| w.text.as_str()).find(|w| !w.starts_with('-'))
}

/// Whether a word is a verb or a beginning of it, as btrfs takes them.
fn abbreviates(word: &str, verb: &str) -> bool {
    word.len() >= 2 && verb.starts_with(word)
}

/// Words of a pool that are files or name its form.
fn is_image(text: &str) -> bool {
    ["mirror", "log", "cache", "spare"].contains(&text) || text.starts_with("raidz") || text.contains('/') && !text.starts_with("/dev/")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hook::analysis::Shell;
    use crate::places::tests::command;

    #[test]
    fn disks() {
        let shell = Shell::default();
        let t = Text { source: "", shell: &shell, programs: &[] };
        for (line, want) in [
            ("mkfs.ext4 -F /dev/sdb1", true),
            ("mkfs -t ext4 /dev/data/home", true),
            ("mkfs.vfat -C boot.img 65536", false),
            ("mkfs.ext4 /dev/loop0", false),
            ("fdisk -l /dev/sda", false),
            ("fdisk /dev/vdb", true),
            ("sfdisk -d /dev/sda", false),
            ("sfdisk --delete /dev/sda", true),
            ("sfdisk /dev/sda", true),
            ("sgdisk -p /dev/sda", false),
            ("debugfs -R stats /dev/sda1", false),
            ("debugfs -w -R stats /dev/sda1", true),
            ("fsarchiver restfs b.fsa id=0,dest=/dev/sda2", true),
            ("fsarchiver savefs b.fsa /dev/sda2", false),
            ("socat -u FILE:disk.img OPEN:/dev/sdb", true),
            ("socat -u OPEN:/dev/sdb FILE:disk.img", false),
            ("sgdisk -Z /dev/sda", true),
            ("sgdisk -d 1 /dev/sda", true),
            ("sgdisk --zap-all /dev/nvme0n1", true),
            ("parted -s /dev/sda mklabel gpt", true),
            ("parted /dev/sda print", false),
            ("parted -s /dev/sda unit MiB print", false),
            ("wipefs /dev/sda", false),
            ("wipefs -af /dev/sda", true),
            ("badblocks -sv /dev/sda", false),
            ("badblocks -wsv /dev/sda", true),
            ("hdparm -tT /dev/sda", false),
            ("hdparm --user-master u --security-erase p /dev/sda", true),
            ("nvme list", false),
            ("nvme format /dev/nvme0n1", true),
            ("cryptsetup luksFormat /dev/sdb", true),
            ("cryptsetup luksFormat disk.img", false),
            ("cryptsetup open /dev/sdb x", false),
            ("mdadm --create /dev/md0 -l1 -n2 /dev/sda /dev/sdb", true),
            ("mdadm --detail /dev/md0", false),
            ("lvremove -f vg0/root", true),
            ("lvs", false),
            ("zpool destroy tank", true),
            ("zpool create tank /dev/sdb", true),
            ("zpool create test mirror /tmp/a.img /tmp/b.img", false),
            ("zpool status", false),
            ("btrfs sub del /home", true),
            ("btrfs subvolume list /", false),
            ("diskutil list", false),
            ("diskutil eraseDisk APFS x disk2", true),
            ("diskutil apfs deleteVolume disk1s2", true),
            ("sponge /dev/mmcblk1", true),
            ("tee /dev/null", false),
            ("dd if=/dev/sda of=disk.img", false),
            ("dd if=x of=/dev/sdc bs=8M", true),
            ("dd if=/dev/zero of=/dev/null", false),
            ("cp image.iso /dev/sdb", true),
            ("qemu-img convert -O raw a.qcow2 /dev/sdb", true),
            ("qemu-img convert -O raw a.qcow2 a.raw", false),
            ("wget -O /dev/sda http://x/i", true),
            ("format C:", true),
            ("format code", false),
            ("smartctl -a /dev/sda", false),
            ("mount /dev/sdb1 /mnt", false),
        ] {
            assert_eq!(judge(&t, &command(line)).is_some(), want, "{line}");
        }
    }
}
