package phases

import "testing"

func BenchmarkDecodeInvocation(b *testing.B) {
	doc, err := EncodeInvocation(sampleInvocation(PreTool))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.SetBytes(int64(len(doc)))
	for b.Loop() {
		if _, err := DecodeInvocation(doc); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkChain(b *testing.B) {
	inv := sampleInvocation(PreTool)
	turns := []Turn{turn("a", setArg("timeout", "30")), turn("b", contextWith("x")), turn("c")}
	b.ReportAllocs()
	for b.Loop() {
		if v, err := fold(inv, nil, Scopes{}, turns); err != nil || v.Decision != Allow {
			b.Fatal(v, err)
		}
	}
}

func BenchmarkScopeIntersect(b *testing.B) {
	x, y := Scope{"*.example:443", "a:80", "b:1-1024"}, Scope{"*:443", "b:80-90"}
	b.ReportAllocs()
	for b.Loop() {
		x.Intersect(ScopeNet, y)
	}
}
