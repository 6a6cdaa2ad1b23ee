package hookbuild

import "context"

func missingGo() string {
	if find("tinygo", "go") == "" {
		return "neither tinygo nor go is there; go 1.24 or newer is enough, TinyGo makes much smaller modules"
	}
	return ""
}

func compileGo(ctx context.Context, j *job) ([]byte, error) {
	if m := missingGo(); m != "" {
		return nil, failure(ErrTool, nil, "%s", m)
	}
	if j.opts.StandardGo && j.opts.Target != "" {
		return nil, failure(ErrSource, nil, "the target %s is one of TinyGo, which was not to be used", clip(j.opts.Target))
	}
	if tiny := find("tinygo"); tiny != "" && !j.opts.StandardGo {
		return compileTinyGo(ctx, j, tiny)
	}
	if j.opts.Target != "" {
		return nil, failure(ErrTool, nil, "the target %s is one of TinyGo, and tinygo is missing; it is at https://tinygo.org",
			clip(j.opts.Target))
	}
	program := find("go")
	if program == "" {
		return nil, failure(ErrTool, nil, "go is missing; it is at https://go.dev/dl")
	}
	j.version(ctx, "", program, "version")
	// c-shared makes a reactor: _initialize and the exports, no _start.
	args := []string{"build", "-trimpath", "-buildvcs=false", "-buildmode=c-shared", "-o", j.output()}
	if !j.opts.Debug {
		args = append(args, "-ldflags=-s -w")
	}
	_, err := j.run(ctx, env("GOOS=wasip1", "GOARCH=wasm", "GOWORK=off", "CGO_ENABLED=0"), readGo, program,
		append(args, ".")...)
	if err != nil {
		return nil, err
	}
	return j.read()
}
