package redact

import "strings"

// token is a form of secret that begins with a fixed text.
type token struct {
	kind   string
	prefix string
	chars  string // classes of what follows: see inClass
	min    int    // least length of what follows
	max    int    // greatest; 0: no limit
	inner  bool   // may stand inside of a word
	mixed  bool   // what follows has upper case, lower case and digits: the prefix alone says little
}

// Classes of characters: w letters and digits, h hexadecimal, u upper case and
// digits, d digits, - _ . / + = : ~ % themselves.
func inClass(c byte, classes string) bool {
	for i := 0; i < len(classes); i++ {
		switch classes[i] {
		case 'w':
			if c >= '0' && c <= '9' || c|32 >= 'a' && c|32 <= 'z' {
				return true
			}
		case 'h':
			if c >= '0' && c <= '9' || c|32 >= 'a' && c|32 <= 'f' {
				return true
			}
		case 'u':
			if c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' {
				return true
			}
		case 'd':
			if c >= '0' && c <= '9' {
				return true
			}
		default:
			if c == classes[i] {
				return true
			}
		}
	}
	return false
}

// known is read only.
var known = tokens()

// tokens lists forms that their issuers document. Lengths are a little below
// the real ones, so that a cut-off token is found too.
func tokens() []token {
	return []token{
		{kind: "belay-token", prefix: "belay_invoke_", chars: "w-_", min: 30},
		{kind: "belay-token", prefix: "belay_review_", chars: "w-_", min: 30},
		{kind: "belay-token", prefix: "belay_admin_", chars: "w-_", min: 30},
		{kind: "aws-access-key", prefix: "AKIA", chars: "u", min: 16, max: 16},
		{kind: "aws-access-key", prefix: "ASIA", chars: "u", min: 16, max: 16},
		{kind: "aws-access-key", prefix: "ABIA", chars: "u", min: 16, max: 16},
		{kind: "aws-access-key", prefix: "ACCA", chars: "u", min: 16, max: 16},
		{kind: "github-token", prefix: "ghp_", chars: "w", min: 30},
		{kind: "github-token", prefix: "gho_", chars: "w", min: 30},
		{kind: "github-token", prefix: "ghu_", chars: "w", min: 30},
		{kind: "github-token", prefix: "ghs_", chars: "w", min: 30},
		{kind: "github-token", prefix: "ghr_", chars: "w", min: 30},
		{kind: "github-token", prefix: "github_pat_", chars: "w_", min: 30},
		{kind: "gitlab-token", prefix: "glpat-", chars: "w-_.", min: 16},
		{kind: "gitlab-token", prefix: "gldt-", chars: "w-_", min: 16},
		{kind: "gitlab-token", prefix: "glrt-", chars: "w-_.", min: 16},
		{kind: "gitlab-token", prefix: "glcbt-", chars: "w-_", min: 16},
		{kind: "gitlab-token", prefix: "glptt-", chars: "w-_", min: 16},
		{kind: "gitlab-token", prefix: "glsoat-", chars: "w-_", min: 16},
		{kind: "gitlab-token", prefix: "glft-", chars: "w-_", min: 16},
		{kind: "slack-token", prefix: "xoxb-", chars: "w-", min: 16},
		{kind: "slack-token", prefix: "xoxp-", chars: "w-", min: 16},
		{kind: "slack-token", prefix: "xoxa-", chars: "w-", min: 16},
		{kind: "slack-token", prefix: "xoxr-", chars: "w-", min: 16},
		{kind: "slack-token", prefix: "xoxs-", chars: "w-", min: 16},
		{kind: "slack-token", prefix: "xoxc-", chars: "w-", min: 16},
		{kind: "slack-token", prefix: "xoxd-", chars: "w-%/+", min: 16},
		{kind: "slack-token", prefix: "xoxe.", chars: "w-.", min: 16},
		{kind: "slack-token", prefix: "xapp-", chars: "w-", min: 16},
		{kind: "slack-webhook", prefix: "hooks.slack.com/services/", chars: "w/", min: 20},
		{kind: "slack-webhook", prefix: "hooks.slack.com/workflows/", chars: "w/", min: 20},
		{kind: "discord-webhook", prefix: "discord.com/api/webhooks/", chars: "w/-_", min: 40},
		{kind: "discord-webhook", prefix: "discordapp.com/api/webhooks/", chars: "w/-_", min: 40},
		{kind: "stripe-key", prefix: "sk_live_", chars: "w", min: 10},
		{kind: "stripe-key", prefix: "rk_live_", chars: "w", min: 10},
		{kind: "stripe-key", prefix: "sk_test_", chars: "w", min: 20},
		{kind: "stripe-key", prefix: "rk_test_", chars: "w", min: 20},
		{kind: "stripe-secret", prefix: "whsec_", chars: "w+/=", min: 20},
		{kind: "google-key", prefix: "AIza", chars: "w-_", min: 30},
		{kind: "google-token", prefix: "ya29.", chars: "w-_.", min: 20},
		{kind: "google-token", prefix: "1//0", chars: "w-_", min: 30},
		{kind: "google-secret", prefix: "GOCSPX-", chars: "w-_", min: 20},
		{kind: "openai-key", prefix: "sk-proj-", chars: "w-_", min: 20},
		{kind: "openai-key", prefix: "sk-svcacct-", chars: "w-_", min: 20},
		{kind: "openai-key", prefix: "sk-admin-", chars: "w-_", min: 20},
		{kind: "openrouter-key", prefix: "sk-or-", chars: "w-_", min: 20},
		{kind: "anthropic-key", prefix: "sk-ant-", chars: "w-_", min: 20},
		{kind: "openai-key", prefix: "sk-", chars: "w", min: 32},
		{kind: "huggingface-token", prefix: "hf_", chars: "w", min: 25},
		{kind: "replicate-token", prefix: "r8_", chars: "w", min: 30},
		{kind: "groq-key", prefix: "gsk_", chars: "w", min: 30},
		{kind: "xai-key", prefix: "xai-", chars: "w", min: 40},
		{kind: "perplexity-key", prefix: "pplx-", chars: "w", min: 30},
		{kind: "npm-token", prefix: "npm_", chars: "w", min: 30},
		{kind: "pypi-token", prefix: "pypi-AgE", chars: "w-_", min: 30},
		{kind: "rubygems-key", prefix: "rubygems_", chars: "h", min: 40},
		{kind: "crates-token", prefix: "cio", chars: "w", min: 32, max: 32},
		{kind: "sendgrid-key", prefix: "SG.", chars: "w-_.", min: 40},
		{kind: "mailgun-key", prefix: "key-", chars: "h", min: 32, max: 32},
		{kind: "mailchimp-key", prefix: "md-", chars: "w-_", min: 22, max: 22},
		{kind: "twilio-key", prefix: "SK", chars: "h", min: 32, max: 32},
		{kind: "digitalocean-token", prefix: "dop_v1_", chars: "h", min: 40},
		{kind: "digitalocean-token", prefix: "doo_v1_", chars: "h", min: 40},
		{kind: "digitalocean-token", prefix: "dor_v1_", chars: "h", min: 40},
		{kind: "vault-token", prefix: "hvs.", chars: "w-_", min: 20},
		{kind: "vault-token", prefix: "hvb.", chars: "w-_", min: 20},
		{kind: "vault-token", prefix: "hvr.", chars: "w-_", min: 20},
		{kind: "terraform-token", prefix: ".atlasv1.", chars: "w-_=", min: 40, inner: true},
		{kind: "databricks-token", prefix: "dapi", chars: "h-", min: 32},
		{kind: "docker-token", prefix: "dckr_pat_", chars: "w-_", min: 20},
		{kind: "docker-token", prefix: "dckr_oat_", chars: "w-_", min: 20},
		{kind: "newrelic-key", prefix: "NRAK-", chars: "w", min: 20},
		{kind: "newrelic-key", prefix: "NRII-", chars: "w-_", min: 20},
		{kind: "doppler-token", prefix: "dp.st.", chars: "w-_.", min: 30},
		{kind: "doppler-token", prefix: "dp.pt.", chars: "w-_.", min: 30},
		{kind: "doppler-token", prefix: "dp.ct.", chars: "w-_.", min: 30},
		{kind: "linear-key", prefix: "lin_api_", chars: "w", min: 30},
		{kind: "shopify-token", prefix: "shpat_", chars: "h", min: 24},
		{kind: "shopify-token", prefix: "shpca_", chars: "h", min: 24},
		{kind: "shopify-token", prefix: "shppa_", chars: "h", min: 24},
		{kind: "shopify-secret", prefix: "shpss_", chars: "h", min: 24},
		{kind: "grafana-token", prefix: "glsa_", chars: "w_", min: 30},
		{kind: "grafana-token", prefix: "glc_", chars: "w+/=", min: 30},
		{kind: "notion-token", prefix: "ntn_", chars: "w", min: 30},
		{kind: "notion-token", prefix: "secret_", chars: "w", min: 40},
		{kind: "atlassian-token", prefix: "ATATT3", chars: "w-_=", min: 40},
		{kind: "atlassian-token", prefix: "ATCTT3", chars: "w-_=", min: 40},
		{kind: "airtable-token", prefix: "pat", chars: "w.", min: 79, max: 79},
		{kind: "asana-token", prefix: "1/", chars: "d:h", min: 45},
		{kind: "figma-token", prefix: "figd_", chars: "w-_", min: 30},
		{kind: "postman-key", prefix: "PMAK-", chars: "w-", min: 30},
		{kind: "pulumi-token", prefix: "pul-", chars: "h", min: 36},
		{kind: "prefect-key", prefix: "pnu_", chars: "w", min: 30},
		{kind: "planetscale-token", prefix: "pscale_tkn_", chars: "w-_.=", min: 20},
		{kind: "planetscale-password", prefix: "pscale_pw_", chars: "w-_.=", min: 20},
		{kind: "sentry-token", prefix: "sntrys_", chars: "w+/=_", min: 30},
		{kind: "sentry-token", prefix: "sntryu_", chars: "h", min: 30},
		{kind: "supabase-key", prefix: "sbp_", chars: "h", min: 30},
		{kind: "flyio-token", prefix: "fo1_", chars: "w-_", min: 30},
		{kind: "flyio-token", prefix: "fm2_", chars: "w+/=", min: 40},
		{kind: "tailscale-key", prefix: "tskey-", chars: "w-", min: 20},
		{kind: "buildkite-token", prefix: "bkua_", chars: "h", min: 30},
		{kind: "circleci-token", prefix: "CCIPAT_", chars: "w_", min: 30},
		{kind: "square-token", prefix: "EAAA", chars: "w-_", min: 56},
		{kind: "square-token", prefix: "sq0atp-", chars: "w-_", min: 20},
		{kind: "square-secret", prefix: "sq0csp-", chars: "w-_", min: 20},
		{kind: "age-key", prefix: "AGE-SECRET-KEY-1", chars: "u", min: 20},
		{kind: "gitlab-token", prefix: "gloas-", chars: "w-_", min: 16},
		{kind: "gitlab-token", prefix: "glagent-", chars: "w-_", min: 16},
		{kind: "gitlab-token", prefix: "glimt-", chars: "w-_", min: 16},
		{kind: "gitlab-token", prefix: "glffct-", chars: "w-_", min: 16},
		{kind: "alibaba-key-id", prefix: "LTAI", chars: "w", min: 12, max: 26},
		{kind: "tencent-key-id", prefix: "AKID", chars: "w", min: 32, max: 36, mixed: true},
		{kind: "aws-bedrock-key", prefix: "ABSK", chars: "w+/=", min: 60},
		{kind: "amazon-mws-token", prefix: "amzn.mws.", chars: "h-", min: 30},
		{kind: "amazon-secret", prefix: "amzn1.oa2-cs.v1.", chars: "h", min: 32},
		{kind: "heroku-key", prefix: "HRKU-", chars: "w-_", min: 30},
		{kind: "netlify-token", prefix: "nfp_", chars: "w", min: 30},
		{kind: "sourcegraph-token", prefix: "sgp_", chars: "w_", min: 36},
		{kind: "brevo-key", prefix: "xkeysib-", chars: "w-", min: 40},
		{kind: "brevo-key", prefix: "xsmtpsib-", chars: "w-", min: 40},
		{kind: "dynatrace-token", prefix: "dt0", chars: "w.", min: 80},
		{kind: "nvidia-key", prefix: "nvapi-", chars: "w-_", min: 40},
		{kind: "langsmith-key", prefix: "lsv2_", chars: "w_", min: 36},
		{kind: "bitbucket-token", prefix: "ATBB", chars: "w", min: 28, max: 40, mixed: true},
		{kind: "bitbucket-token", prefix: "BBDC-", chars: "w+/", min: 36},
		{kind: "trello-token", prefix: "ATTA", chars: "w", min: 60},
		{kind: "docker-swarm-token", prefix: "SWMTKN-", chars: "w-", min: 50},
		{kind: "onepassword-token", prefix: "ops_eyJ", chars: "w-_+/=", min: 60},
		{kind: "pinecone-key", prefix: "pcsk_", chars: "w_", min: 40},
		{kind: "openai-key", prefix: "sess-", chars: "w", min: 40},
		{kind: "facebook-token", prefix: "EAA", chars: "w", min: 80, mixed: true},
		{kind: "instagram-token", prefix: "IGQV", chars: "w-_", min: 80},
		{kind: "twitter-token", prefix: "AAAAAAAAAAAAAAAAAAAA", chars: "w%", min: 60},
		{kind: "yandex-token", prefix: "y0_", chars: "w-_", min: 40},
		{kind: "yandex-key", prefix: "AQVN", chars: "w-_", min: 34},
		{kind: "yandex-token", prefix: "t1.", chars: "w-_.=", min: 80},
		{kind: "dropbox-token", prefix: "sl.", chars: "w-_", min: 80},
		{kind: "easypost-key", prefix: "EZAK", chars: "w", min: 50},
		{kind: "easypost-key", prefix: "EZTK", chars: "w", min: 50},
		{kind: "flutterwave-key", prefix: "FLWSECK", chars: "w-_", min: 12},
		{kind: "render-key", prefix: "rnd_", chars: "w", min: 26, mixed: true},
		{kind: "typeform-token", prefix: "tfp_", chars: "w-_.=", min: 40},
		{kind: "posthog-key", prefix: "phx_", chars: "w", min: 30},
		{kind: "fireworks-key", prefix: "fw_", chars: "w", min: 20, max: 32, mixed: true},
		{kind: "together-key", prefix: "tgp_v1_", chars: "w-_", min: 30},
		{kind: "cerebras-key", prefix: "csk-", chars: "w", min: 40},
		{kind: "tavily-key", prefix: "tvly-", chars: "w-_", min: 28},
		{kind: "e2b-key", prefix: "e2b_", chars: "h", min: 36},
		{kind: "runpod-key", prefix: "rpa_", chars: "w", min: 36},
		{kind: "clojars-token", prefix: "CLOJARS_", chars: "w", min: 40},
		{kind: "nuget-key", prefix: "oy2", chars: "w", min: 43, max: 43},
		{kind: "jfrog-key", prefix: "AKCp", chars: "w", min: 60},
		{kind: "jfrog-token", prefix: "cmVmdGtuOj", chars: "w", min: 50},
		{kind: "readme-key", prefix: "rdme_", chars: "w", min: 60},
		{kind: "adafruit-key", prefix: "aio_", chars: "w", min: 26, mixed: true},
		{kind: "wakatime-key", prefix: "waka_", chars: "h-", min: 30},
		{kind: "scaleway-key-id", prefix: "SCW", chars: "u", min: 17, max: 17},
		{kind: "linear-token", prefix: "lin_oauth_", chars: "w", min: 30},
		{kind: "planetscale-token", prefix: "pscale_oauth_", chars: "w-_.=", min: 20},
		{kind: "braintree-token", prefix: "access_token$", chars: "w$", min: 40},
		{kind: "mapbox-token", prefix: "sk.eyJ", chars: "w-_.", min: 40},
		{kind: "artifactory-token", prefix: "eyJ2ZXIiOiIyIiwi", chars: "w-_.", min: 60},
		{kind: "grafana-key", prefix: "eyJrIjoi", chars: "w=", min: 60},
		{kind: "generic-secret", prefix: "secret-token:", chars: "w-_.~%", min: 16},
		{kind: "vault-token", prefix: "s.", chars: "w", min: 24, max: 24, mixed: true},
		{kind: "vault-token", prefix: "b.AAAAAQ", chars: "w-_", min: 60},
		{kind: "teams-webhook", prefix: "webhook.office.com/webhookb2/", chars: "w/-@", min: 60},
		{kind: "zapier-webhook", prefix: "hooks.zapier.com/hooks/catch/", chars: "w/", min: 12},
		{kind: "firebase-key", prefix: "APA91b", chars: "w-_", min: 80},
		{kind: "sonar-token", prefix: "squ_", chars: "h", min: 36},
		{kind: "sonar-token", prefix: "sqp_", chars: "h", min: 36},
		{kind: "sonar-token", prefix: "sqa_", chars: "h", min: 36},
		{kind: "contentful-token", prefix: "CFPAT-", chars: "w-_", min: 36},
		{kind: "gitlab-token", prefix: "GR1348941", chars: "w-_", min: 16},
		{kind: "gitlab-token", prefix: "glwt-", chars: "w-_", min: 16},
		{kind: "supabase-key", prefix: "sb_secret_", chars: "w-_", min: 20},
		{kind: "neon-password", prefix: "npg_", chars: "w", min: 10, mixed: true},
		{kind: "razorpay-key", prefix: "rzp_live_", chars: "w", min: 14, max: 14},
		{kind: "plaid-token", prefix: "access-production-", chars: "h-", min: 36, max: 36},
		{kind: "plaid-token", prefix: "access-sandbox-", chars: "h-", min: 36, max: 36},
		{kind: "plaid-token", prefix: "access-development-", chars: "h-", min: 36, max: 36},
		{kind: "cloudflare-key", prefix: "v1.0-", chars: "h-", min: 100},
		{kind: "sentry-token", prefix: "sntrya_", chars: "h", min: 30},
		{kind: "grafana-token", prefix: "glb_", chars: "w+/=", min: 30},
		{kind: "belay-lease", prefix: "blt_", chars: "w-_", min: 43, max: 43},
	}
}

// byHead lists the forms by the first two bytes of their prefix; read only.
var byHead = heads()

func heads() *[1 << 16][]token {
	var t [1 << 16][]token
	for _, f := range known {
		h := int(f.prefix[0])<<8 | int(f.prefix[1])
		t[h] = append(t[h], f)
	}
	return &t
}

// findTokens looks for every form in one pass: two bytes choose the few forms
// that may begin there.
func findTokens(s string, add func(kind string, from, to int)) {
	var ends map[string][2]int // where the run of a class ends that was looked at last: many starts in one run cost no more than one
	for i, done := 0, 0; i+8 < len(s); i++ {
		forms := byHead[int(s[i])<<8|int(s[i+1])]
		if len(forms) == 0 || i < done {
			continue
		}
		begins := begins(s, i)
		for k := range forms {
			t := &forms[k]
			if !begins && !t.inner || !strings.HasPrefix(s[i:], t.prefix) {
				continue
			}
			if ends == nil {
				ends = map[string][2]int{}
			}
			if from, to := t.match(s, i, ends); to > 0 {
				add(t.kind, from, to)
				done = max(done, to)
			}
		}
	}
}

// begins reports that a word may begin at s[i].
func begins(s string, i int) bool {
	if i == 0 {
		return true
	}
	c := s[i-1]
	if !word[c] && c != '_' && (c != '-' || s[i] == '.' || i < 2 || !word[s[i-2]]) {
		return true
	}
	return afterEscape(s, i)
}

func (t *token) match(s string, from int, ends map[string][2]int) (int, int) {
	start := from + len(t.prefix)
	if t.min >= 56 && from >= 16 && (s[from-1] == '/' || s[from-1] == '+') && !strings.ContainsAny(s[from-16:from], ".:-\n ") {
		return 0, 0 // inside of a run of base64
	}
	to := start
	if run := ends[t.chars]; t.max == 0 && run[0] <= start && run[1] > start {
		to = run[1]
	}
	for to < len(s) && (t.max == 0 || to-start < t.max) && inClass(s[to], t.chars) {
		to++
	}
	if t.max == 0 {
		ends[t.chars] = [2]int{start, to}
	}
	if to-start < t.min || t.max > 0 && to < len(s) && inClass(s[to], t.chars) {
		return 0, 0
	}
	if strings.IndexByte(t.chars, '.') >= 0 || strings.IndexByte(t.chars, '-') >= 0 {
		to = start + len(strings.TrimRight(s[start:to], ".-"))
	}
	for t.inner && from > 0 && word[s[from-1]] {
		from--
	}
	if head := s[start:min(to, start+512)]; dull(head) || t.mixed && (!mixed(head) || len(head) >= 20 && !randomish(head)) && identifier(head) {
		return 0, 0
	}
	return from, to
}

// mixed reports upper case, lower case and digits.
func mixed(s string) bool {
	var upper, lower, digit bool
	for i := 0; i < len(s); i++ {
		c := s[i]
		upper = upper || c >= 'A' && c <= 'Z'
		lower = lower || c >= 'a' && c <= 'z'
		digit = digit || c >= '0' && c <= '9'
	}
	return upper && lower && digit
}

// table is a class of inClass that is asked for often; read only.
func table(classes string) (t [256]bool) {
	for c := range t {
		t[c] = inClass(byte(c), classes)
	}
	return t
}

// Read only.
var (
	word     = table("w")
	nameByte = table("w_-.")
	baseByte = table("w+/-_")
	hexByte  = table("h")
)

// findTelling covers tokens of issuers that nobody has listed: short words
// joined by _ or -, one of which says what it is (sk, pat, live, secret …), and
// then a long body that no person would type.
func findTelling(s string, add func(kind string, from, to int)) {
	for i := 0; i < len(s); {
		if !word[s[i]] {
			i++
			continue
		}
		from, last, telling, tail := i, i, false, 0
		for i < len(s) && (word[s[i]] || s[i] == '_' || s[i] == '-') {
			if s[i] == '_' || s[i] == '-' {
				// The first long part ends the prefix.
				if i-last <= 12 && !(i-last >= 8 && randomish(s[last:i])) {
					if tellingWord(s[last:i]) && last-from <= 24 {
						if telling = true; tail == 0 {
							tail = i + 1
						}
					}
					last = i + 1
				}
			}
			i++
		}
		if !telling || last <= from {
			continue
		}
		body := s[min(last, i):i]
		generated := last-from <= 40 && len(body) >= 20 && (randomish(body) || !identifier(body)) && !dull(body)
		if !generated { // the body may have _ and - itself
			body = s[tail:i]
			generated = len(body) >= 24 && mixed(body) && !identifier(body) && !dull(body)
		}
		if prefix := s[from:last]; generated && !strings.HasPrefix(prefix, "pk_") && !strings.Contains(prefix, "_pk_") && !strings.Contains(prefix, "publi") {
			add("token", from, i)
		}
	}
}

func tellingWord(w string) bool {
	switch strings.ToLower(w) {
	case "sk", "rk", "pat", "tok", "tkn", "token", "key", "apikey", "api", "secret", "live", "prod", "auth", "access", "admin", "svc", "cred", "pw", "oauth", "refresh", "private", "sec":
		return true
	}
	return false
}

// randomish reports digits among letters in the way of a generated text: not one
// number behind or before a word.
func randomish(s string) bool {
	changes, digit, upper, lower := 0, 0, 0, 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		d := c >= '0' && c <= '9'
		if d {
			digit++
		} else if c >= 'a' && c <= 'z' {
			lower++
		} else if c >= 'A' && c <= 'Z' {
			upper++
		}
		if i > 0 && d != (s[i-1] >= '0' && s[i-1] <= '9') {
			changes++
		}
	}
	return digit >= 2 && lower+upper >= 2 && changes >= 3
}

// afterEscape reports that what stands before i is the letter of an escape such as \n.
func afterEscape(s string, i int) bool {
	return i > 1 && s[i-2] == '\\' && strings.IndexByte("ntrbf", s[i-1]) >= 0
}

// dull reports text that no generator makes: one or two different characters, an
// alphabet, a marked example.
func dull(s string) bool {
	if len(s) == 0 {
		return true
	}
	var seen [256]bool
	kinds := 0
	for i := 0; i < len(s); i++ {
		if c := s[i] | 32; !seen[c] {
			seen[c] = true
			kinds++
		}
	}
	low := strings.ToLower(s)
	return kinds < 4 || len(s) >= 16 && kinds < 6 || strings.Contains(low, "example") || strings.Contains(low, "xxxxxx") ||
		strings.Contains(low, "your_") || strings.Contains(low, "your-") || strings.Contains(low, "placeholder") ||
		strings.Contains(low, "abcdefghij") || strings.Contains(low, "1234567890abcdef")
}
