package shell

import "strings"

// finds walks -exec and its kin.
func (w *walker) finds(e *env, name string, args []Word, c ctx, raw string, i int) {
	for k := 0; k < len(args); k++ {
		switch args[k].Text {
		case "-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename", "-regex", "-iregex", "-lname",
			"-ilname", "-newer",
			"-anewer", "-cnewer", "-samefile", "-type", "-xtype", "-user", "-group", "-perm", "-size",
			"-fprint", "-fprint0", "-fls",
			"-printf", "-fstype", "-regextype", "-files0-from":
			if !strings.HasPrefix(name, "fd") {
				k++
			}
		case "-fprintf":
			k += 2
		case "-exec", "-execdir", "-ok", "-okdir":
			end := k + 1
			for end < len(args) && args[end].Text != ";" && (args[end].Text != "+" || args[end-1].Text != "{}") {
				end++
			}
			w.argvOpen(e, name+" "+args[k].Text, args[k+1:end], false, c.fill("{}"), raw, i)
			k = end
		case "-x", "-X", "--exec", "--exec-batch":
			if strings.HasPrefix(name, "fd") {
				end := k + 1
				for end < len(args) && args[end].Text != ";" {
					end++
				}
				w.argvOpen(e, name+" --exec", args[k+1:end], true, c.fill("{").fill("}"), raw, i)
				k = end
			}
		}
	}
}
