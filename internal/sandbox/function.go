package sandbox

import (
	"reflect"
	"slices"

	"github.com/tetratelabs/wazero/api"
)

// function is an export that has been looked up. The engine makes a stack for each look, and calls of a function use
// it again.
type function struct {
	name  string
	fn    api.Function // nil: there is no such export
	stack stack
}

// function returns the export of the name, or nil.
func (i *instance) function(name string) api.Function {
	for _, f := range i.functions {
		if f.name == name {
			return f.fn
		}
	}
	fn := i.module.ExportedFunction(name)
	i.functions = append(i.functions, function{name, fn, stackOf(fn)})
	return fn
}

// maxStack is the longest stack of a function that an idle instance holds, in bytes. The engine makes stacks longer
// when calls nest, up to a few MiB under the budget of the metering pass, and never shorter.
const maxStack = 64 << 10

// dropStacks forgets the functions whose stacks have grown.
func (i *instance) dropStacks() {
	for _, f := range i.functions {
		if f.stackSize() > maxStack {
			i.functions = slices.DeleteFunc(i.functions, func(f function) bool { return f.stackSize() > maxStack })
			return
		}
	}
}

func (f *function) stackSize() int {
	switch s := &f.stack; {
	case s.bytes != nil:
		return cap(*s.bytes)
	case s.words != nil:
		return 8 * cap(*s.words)
	}
	return 0
}

// stack is the field of a function that is its stack, as it is at any time: bytes of the compiler's code, or words of
// the interpreter; neither where the engine has none between calls.
type stack struct {
	bytes *[]byte
	words *[]uint64
}

// stackOf finds the stack of a function. The engine keeps the field to itself; a test tells when it is no longer found.
func stackOf(fn api.Function) (s stack) {
	v := reflect.ValueOf(fn)
	if v.Kind() != reflect.Pointer || v.IsNil() || v.Elem().Kind() != reflect.Struct {
		return s
	}
	field := v.Elem().FieldByName("stack")
	if !field.IsValid() {
		return s
	}
	switch field.Type() {
	case reflect.TypeFor[[]byte]():
		s.bytes = (*[]byte)(field.Addr().UnsafePointer())
	case reflect.TypeFor[[]uint64]():
		s.words = (*[]uint64)(field.Addr().UnsafePointer())
	}
	return s
}
