// Command probe tries what the daemon of system mode must not be able to do, and what it must. systemd starts it by the daemon's
// own unit, in the place of belay; so what holds it are that unit's walls alone, without Landlock. It prints a line for
// each try: its name, and the error or "ok".
package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

func main() {
	say := func(name string, err error) {
		if err == nil {
			fmt.Printf("probe %s: ok\n", name)
			return
		}
		fmt.Printf("probe %s: %v\n", name, err)
	}
	write := func(name string) error { return os.WriteFile(name, []byte("x"), 0o600) }
	list := func(name string) error {
		_, err := os.ReadDir(name)
		return err
	}
	for _, dir := range []string{"/", "/etc", "/etc/belay", "/usr/local/bin", "/var/lib", "/run/belay", "/home"} {
		say("write "+dir, write(filepath.Join(dir, "belay-probe")))
	}
	say("list home", list("/home/alice"))
	say("read shadow", func() error { _, err := os.ReadFile("/etc/shadow"); return err }())
	entries, err := os.ReadDir("/tmp")
	if err == nil && len(entries) > 0 {
		err = fmt.Errorf("sees %s", entries[0].Name())
	}
	say("others' tmp is hidden", err)
	_, err = os.Stat("/proc/1/status")
	say("see PID 1", err)
	say("signal PID 1", syscall.Kill(1, 0))
	say("mount", unix.Mount("tmpfs", "/tmp", "tmpfs", 0, ""))
	say("new namespace", unix.Unshare(unix.CLONE_NEWNS))
	say("new user namespace", unix.Unshare(unix.CLONE_NEWUSER))
	say("become root", rawErr(unix.SYS_SETUID, 0))
	say("set the clock", unix.Settimeofday(&unix.Timeval{Sec: 1}))
	say("set the name", unix.Sethostname([]byte("probe")))
	say("trace", rawErr(unix.SYS_PTRACE, unix.PTRACE_TRACEME))
	say("load a module", rawErr(unix.SYS_INIT_MODULE, 0))
	say("bpf", rawErr(unix.SYS_BPF, 0))
	for name, family := range map[string]int{"netlink": unix.AF_NETLINK, "packet": unix.AF_PACKET, "vsock": unix.AF_VSOCK} {
		fd, err := unix.Socket(family, unix.SOCK_RAW, 0)
		if err == nil {
			_ = unix.Close(fd)
		}
		say("socket "+name, err)
	}
	say("real time", rawErr(unix.SYS_SCHED_SETSCHEDULER, 0, unix.SCHED_FIFO))
	suid := filepath.Join(os.Getenv("STATE_DIRECTORY"), "suid")
	err = write(suid)
	if err == nil {
		err = unix.Chmod(suid, 0o4755)
	}
	say("setuid bit", err)
	for _, dev := range []string{"/dev/mem", "/dev/kmsg", "/dev/vda", "/dev/fuse"} {
		_, err := os.ReadFile(dev)
		say("read "+dev, err)
	}
	say("run setuid program", exec.Command("/usr/bin/su", "-c", "true").Run())
	say("write a kernel setting", write("/proc/sys/kernel/hostname"))
	say("write a control group", write("/sys/fs/cgroup/belay-probe"))

	// What belay needs.
	say("write the state", write(filepath.Join(os.Getenv("STATE_DIRECTORY"), "probe")))
	page, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err == nil {
		err = unix.Mprotect(page, unix.PROT_READ|unix.PROT_EXEC)
	}
	say("compile", err)
	_, err = net.Listen("tcp", "127.0.0.1:0")
	say("internet", err)
	_, err = net.Listen("unix", filepath.Join(os.Getenv("STATE_DIRECTORY"), "s"))
	say("socket of its own", err)
	say("landlock", rawErr(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION))
	fmt.Println("probe is through")
}

// rawErr makes a system call with arguments that do nothing where it is allowed.
func rawErr(number uintptr, args ...uintptr) error {
	var a [3]uintptr
	copy(a[:], args)
	if _, _, errno := unix.RawSyscall(number, a[0], a[1], a[2]); errno != 0 {
		return errno
	}
	return nil
}
