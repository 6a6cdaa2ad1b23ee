package phases_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"github.com/belay-hooks/belay/phases"
)

// fill sets everything that can be reached from v to something that is not empty.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)))
			return
		}
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0))
		fill(v.Index(1))
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key)
		fill(value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.String:
		v.SetString(strings.Repeat("s", 3))
	case reflect.Uint8:
		v.SetUint('1')
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	case reflect.Bool:
		v.SetBool(true)
	default:
		panic("a kind of member that the test does not know: " + v.Kind().String())
	}
}

// shared calls found for every place where both use the same memory.
func shared(path string, a, b reflect.Value, texts bool, found func(string)) {
	switch a.Kind() {
	case reflect.Pointer:
		if a.UnsafePointer() == b.UnsafePointer() {
			found(path)
			return
		}
		shared(path, a.Elem(), b.Elem(), texts, found)
	case reflect.Struct:
		if a.Type() == reflect.TypeFor[time.Time]() {
			return
		}
		for i := range a.NumField() {
			shared(path+"."+a.Type().Field(i).Name, a.Field(i), b.Field(i), texts, found)
		}
	case reflect.Slice:
		if a.UnsafePointer() == b.UnsafePointer() {
			found(path)
			return
		}
		for i := range a.Len() {
			shared(fmt.Sprintf("%s[%d]", path, i), a.Index(i), b.Index(i), texts, found)
		}
	case reflect.Map:
		if a.UnsafePointer() == b.UnsafePointer() {
			found(path)
			return
		}
		for _, k := range a.MapKeys() {
			shared(path+"["+k.String()+"]", a.MapIndex(k), b.MapIndex(k), texts, found)
		}
	case reflect.String:
		if texts && unsafe.StringData(a.String()) == unsafe.StringData(b.String()) {
			found(path)
		}
	}
}

// A copy says the same and shares nothing, in every member that there is: one that is
// added later and not copied fails here.
func TestClonesShareNothing(t *testing.T) {
	var inv phases.Invocation
	var v phases.Verdict
	fill(reflect.ValueOf(&inv).Elem())
	fill(reflect.ValueOf(&v).Elem())
	for _, c := range []struct {
		name  string
		a, b  any
		texts bool
	}{
		{"Invocation", inv, inv.Clone(), true},
		{"Verdict", v, v.Clone(), false},
		{"Scopes", inv.Scopes, inv.Scopes.Clone(), true},
		{"Metadata", v.Metadata, v.Clone().Metadata, false},
	} {
		if diff := cmp.Diff(c.a, c.b); diff != "" {
			t.Errorf("%s: the copy differs:\n%s", c.name, diff)
		}
		shared(c.name, reflect.ValueOf(c.a), reflect.ValueOf(c.b), c.texts,
			func(path string) { t.Errorf("%s is shared", path) })
	}
}

// A missing member stays missing: a nil scope means everything, an empty one nothing.
func TestClonesKeepWhatIsMissing(t *testing.T) {
	for _, s := range []phases.Scopes{{}, {FSRead: phases.Scope{}}, {Tools: phases.Scope{"exec"}}} {
		if diff := cmp.Diff(s, s.Clone()); diff != "" {
			t.Error(diff)
		}
	}
	if diff := cmp.Diff(phases.Invocation{}, phases.Invocation{}.Clone()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(phases.Verdict{Changed: []string{}}, phases.Verdict{Changed: []string{}}.Clone()); diff != "" {
		t.Error(diff)
	}
}
