package server

import (
	"reflect"
	"testing"
	"time"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/kernel"
)

// Nothing that a status says is forgotten on its way out.
func TestNothingIsForgotten(t *testing.T) {
	var st belay.Status
	fill(t, reflect.ValueOf(&st).Elem())
	out := StatusOf(st)
	missing(t, "Status", reflect.ValueOf(out), "Daemon")
	var hook belay.BindingStatus
	fill(t, reflect.ValueOf(&hook).Elem())
	missing(t, "Hook", reflect.ValueOf(HooksOf([]belay.BindingStatus{hook})[0]))
	var latch kernel.Latch
	fill(t, reflect.ValueOf(&latch).Elem())
	missing(t, "Latch", reflect.ValueOf(LatchesOf([]kernel.Latch{latch})[0]))
}

// fill gives every member a value.
func fill(t *testing.T, v reflect.Value) {
	t.Helper()
	switch v.Kind() {
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(t, v.Index(0))
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Unix(1, 0)))
			return
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(t, v.Field(i))
			}
		}
	default:
		t.Fatalf("a %s cannot be filled", v.Type())
	}
}

// missing finds members without a value.
func missing(t *testing.T, at string, v reflect.Value, but ...string) {
	t.Helper()
	switch v.Kind() {
	case reflect.Slice:
		if v.Len() == 0 {
			t.Errorf("%s is empty", at)
			return
		}
		missing(t, at+"[]", v.Index(0))
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			if v.IsZero() {
				t.Errorf("%s has no time", at)
			}
			return
		}
		for i := range v.NumField() {
			name := v.Type().Field(i).Name
			if len(but) == 0 || but[0] != name {
				missing(t, at+"."+name, v.Field(i))
			}
		}
	default:
		if v.IsZero() {
			t.Errorf("%s has no value", at)
		}
	}
}
