// Workloads of the benchmarks. Rebuild, with the clang of scripts/setup:
//
//	clang-19 --target=wasm32 -O2 -mbulk-memory -nostdlib -Wl,--no-entry -Wl,--strip-all -o bench.wasm bench.c
//
// Each takes a number of rounds and gives a checksum.

#define EXPORT(n) __attribute__((export_name(n)))
typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;

// A loop that is as tight as they come: four instructions, one dependency chain.
EXPORT("spin") u32 spin(u32 n) {
	u32 x = 1;
	for (u32 i = 0; i < n * 1000; i++) {
		x = x * 1664525 + 1013904223;
		__asm__ volatile("" : "+r"(x));
	}
	return x;
}

static u8 flags[8192];

EXPORT("sieve") u32 sieve(u32 n) {
	u32 count = 0;
	while (n--) {
		for (u32 i = 0; i < sizeof flags; i++) flags[i] = 1;
		for (u32 i = 2; i < sizeof flags; i++)
			if (flags[i]) {
				count++;
				for (u32 k = i + i; k < sizeof flags; k += i) flags[k] = 0;
			}
	}
	return count;
}

__attribute__((noinline)) static u32 fib1(u32 n) {
	if (n < 2) return n;
	u32 a = fib1(n - 1);
	__asm__ volatile("" : "+r"(a));
	return a + fib1(n - 2);
}

EXPORT("fib") u32 fib(u32 n) { return fib1(n); }

// What a hook does: find members of a JSON text, unescape a string, look for words in
// it, hash it, and write an answer.
static const char input[] =
	"{\"phase\":\"pre_tool\",\"id\":\"0198c5a2-7d10-7cc3-98c4-dc0c0c07398f\",\"runtime\":\"claude-code\",\"session\":\"s-1\","
	"\"agent\":\"main\",\"run\":\"r-77\",\"user\":\"dev\",\"cwd\":\"/home/dev/project\",\"time\":\"2026-05-01T10:00:00Z\","
	"\"tool\":\"Bash\",\"scopes\":{\"fs\":{\"read\":[\"/home/dev/project/**\"],\"write\":[\"/home/dev/project/src/**\"]}},"
	"\"args\":{\"description\":\"Clean \\u0041 build tree\\nand list it\",\"timeout\":120000,\"command\":\"cd build && find . -name '*.o' -newer "
	"\\\"stamp file\\\" -print0 | xargs -0 rm -f && make -j4 all 2>&1 | tee ../build.log | grep -v warning; ls -la\"},"
	"\"metadata\":{\"level\":{\"value\":3,\"hook\":\"think\",\"tier\":\"sandboxed\"}}}";

static u8 text[2048];

static const u8 *ws(const u8 *p) {
	while (*p == ' ' || *p == '\n' || *p == '\t' || *p == '\r') p++;
	return p;
}

static u32 hex(u8 c) { return c <= '9' ? c - '0' : (c | 32) - 'a' + 10; }

__attribute__((noinline)) static const u8 *string(const u8 *p, u8 *out, u32 *n) {
	u32 k = 0;
	for (p++; *p != '"'; p++) {
		u8 c = *p;
		if (c == '\\') {
			c = *++p;
			if (c == 'n') c = '\n';
			else if (c == 't') c = '\t';
			else if (c == 'u') {
				c = (u8)(hex(p[3]) << 4 | hex(p[4]));
				p += 4;
			}
		}
		if (out) out[k] = c;
		k++;
	}
	*n = k;
	return p + 1;
}

__attribute__((noinline)) static const u8 *skip(const u8 *p) {
	u32 n;
	p = ws(p);
	if (*p == '"') return string(p, 0, &n);
	if (*p == '{' || *p == '[') {
		u8 close = *p == '{' ? '}' : ']';
		p = ws(p + 1);
		while (*p != close) {
			if (close == '}') p = ws(string(p, 0, &n)) + 1;
			p = ws(skip(p));
			if (*p == ',') p = ws(p + 1);
		}
		return p + 1;
	}
	while (*p != ',' && *p != '}' && *p != ']') p++;
	return p;
}

__attribute__((noinline)) static const u8 *member(const u8 *p, const char *name) {
	u8 key[64];
	p = ws(p + 1);
	while (*p != '}') {
		u32 n, i;
		p = ws(string(p, key, &n)) + 1;
		for (i = 0; i < n && name[i] && key[i] == (u8)name[i]; i++) {}
		if (i == n && !name[i]) return ws(p);
		p = ws(skip(p));
		if (*p == ',') p = ws(p + 1);
	}
	return 0;
}

static const char *const words[] = {"rm -rf", "mkfs", "dd if=", "shutdown", "curl", ":(){", "chmod 777", "xargs -0 rm"};

__attribute__((noinline)) static u32 find(const u8 *s, u32 n, const char *w) {
	for (u32 i = 0; i < n; i++) {
		if (s[i] != (u8)w[0]) continue;
		u32 k = 1;
		while (w[k] && i + k < n && s[i + k] == (u8)w[k]) k++;
		if (!w[k]) return i;
	}
	return ~0u;
}

EXPORT("hook") u32 hook(u32 rounds) {
	u32 sum = 0;
	while (rounds--) {
		u32 n = 0;
		const u8 *args = member((const u8 *)input, "args");
		const u8 *cmd = args ? member(args, "command") : 0;
		if (cmd) string(cmd, text, &n);
		u64 h = 14695981039346656037ull;
		for (u32 i = 0; i < n; i++) h = (h ^ text[i]) * 1099511628211ull;
		for (u32 i = 0; i < sizeof words / sizeof *words; i++) sum += find(text, n, words[i]) != ~0u ? i + 1 : 0;
		__builtin_memcpy(text + 1024, text, n);
		sum += (u32)h ^ (u32)(h >> 32);
	}
	return sum;
}

// Float arithmetic: a Mandelbrot point and a dot product.
EXPORT("floats") u32 floats(u32 rounds) {
	u32 sum = 0;
	while (rounds--) {
		double x = 0, y = 0, cx = -0.74364, cy = 0.13182;
		u32 i;
		for (i = 0; i < 500 && x * x + y * y < 4; i++) {
			double t = x * x - y * y + cx;
			y = 2 * x * y + cy;
			x = t;
		}
		sum += i;
	}
	return sum;
}
