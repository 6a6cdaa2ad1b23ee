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
		{kind: "belay_token", prefix: "belay_invoke_", chars: "w-_", min: 30},
		{kind: "belay_token", prefix: "belay_review_", chars: "w-_", min: 30},
		{kind: "belay_token", prefix: "belay_admin_", chars: "w-_", min: 30},
		{kind: "aws_key_id", prefix: "AKIA", chars: "u", min: 16, max: 16},
		{kind: "aws_key_id", prefix: "ASIA", chars: "u", min: 16, max: 16},
		{kind: "aws_key_id", prefix: "ABIA", chars: "u", min: 16, max: 16},
		{kind: "aws_key_id", prefix: "ACCA", chars: "u", min: 16, max: 16},
		{kind: "github_token", prefix: "ghp_", chars: "w", min: 30},
		{kind: "github_token", prefix: "gho_", chars: "w", min: 30},
		{kind: "github_token", prefix: "ghu_", chars: "w", min: 30},
		{kind: "github_token", prefix: "ghs_", chars: "w", min: 30},
		{kind: "github_token", prefix: "ghr_", chars: "w", min: 30},
		{kind: "github_token", prefix: "github_pat_", chars: "w_", min: 30},
		{kind: "gitlab_token", prefix: "glpat-", chars: "w-_.", min: 16},
		{kind: "gitlab_token", prefix: "gldt-", chars: "w-_", min: 16},
		{kind: "gitlab_token", prefix: "glrt-", chars: "w-_.", min: 16},
		{kind: "gitlab_token", prefix: "glcbt-", chars: "w-_", min: 16},
		{kind: "gitlab_token", prefix: "glptt-", chars: "w-_", min: 16},
		{kind: "gitlab_token", prefix: "glsoat-", chars: "w-_", min: 16},
		{kind: "gitlab_token", prefix: "glft-", chars: "w-_", min: 16},
		{kind: "slack_token", prefix: "xoxb-", chars: "w-", min: 16},
		{kind: "slack_token", prefix: "xoxp-", chars: "w-", min: 16},
		{kind: "slack_token", prefix: "xoxa-", chars: "w-", min: 16},
		{kind: "slack_token", prefix: "xoxr-", chars: "w-", min: 16},
		{kind: "slack_token", prefix: "xoxs-", chars: "w-", min: 16},
		{kind: "slack_token", prefix: "xoxc-", chars: "w-", min: 16},
		{kind: "slack_token", prefix: "xoxd-", chars: "w-%/+", min: 16},
		{kind: "slack_token", prefix: "xoxe.", chars: "w-.", min: 16},
		{kind: "slack_token", prefix: "xapp-", chars: "w-", min: 16},
		{kind: "slack_webhook", prefix: "hooks.slack.com/services/", chars: "w/", min: 20},
		{kind: "slack_webhook", prefix: "hooks.slack.com/workflows/", chars: "w/", min: 20},
		{kind: "discord_webhook", prefix: "discord.com/api/webhooks/", chars: "w/-_", min: 40},
		{kind: "discord_webhook", prefix: "discordapp.com/api/webhooks/", chars: "w/-_", min: 40},
		{kind: "stripe_key", prefix: "sk_live_", chars: "w", min: 10},
		{kind: "stripe_key", prefix: "rk_live_", chars: "w", min: 10},
		{kind: "stripe_key", prefix: "sk_test_", chars: "w", min: 20},
		{kind: "stripe_key", prefix: "rk_test_", chars: "w", min: 20},
		{kind: "stripe_secret", prefix: "whsec_", chars: "w+/=", min: 20},
		{kind: "google_key", prefix: "AIza", chars: "w-_", min: 30},
		{kind: "google_token", prefix: "ya29.", chars: "w-_.", min: 20},
		{kind: "google_token", prefix: "1//0", chars: "w-_", min: 30},
		{kind: "google_secret", prefix: "GOCSPX-", chars: "w-_", min: 20},
		{kind: "openai_key", prefix: "sk-proj-", chars: "w-_", min: 20},
		{kind: "openai_key", prefix: "sk-svcacct-", chars: "w-_", min: 20},
		{kind: "openai_key", prefix: "sk-admin-", chars: "w-_", min: 20},
		{kind: "openrouter_key", prefix: "sk-or-", chars: "w-_", min: 20},
		{kind: "anthropic_key", prefix: "sk-ant-", chars: "w-_", min: 20},
		{kind: "openai_key", prefix: "sk-", chars: "w", min: 32},
		{kind: "huggingface_token", prefix: "hf_", chars: "w", min: 25},
		{kind: "replicate_token", prefix: "r8_", chars: "w", min: 30},
		{kind: "groq_key", prefix: "gsk_", chars: "w", min: 30},
		{kind: "xai_key", prefix: "xai-", chars: "w", min: 40},
		{kind: "perplexity_key", prefix: "pplx-", chars: "w", min: 30},
		{kind: "npm_token", prefix: "npm_", chars: "w", min: 30},
		{kind: "pypi_token", prefix: "pypi-AgE", chars: "w-_", min: 30},
		{kind: "rubygems_key", prefix: "rubygems_", chars: "h", min: 40},
		{kind: "crates_token", prefix: "cio", chars: "w", min: 32, max: 32},
		{kind: "sendgrid_key", prefix: "SG.", chars: "w-_.", min: 40},
		{kind: "mailgun_key", prefix: "key-", chars: "h", min: 32, max: 32},
		{kind: "mailchimp_key", prefix: "md-", chars: "w-_", min: 22, max: 22},
		{kind: "twilio_key", prefix: "SK", chars: "h", min: 32, max: 32},
		{kind: "digitalocean_token", prefix: "dop_v1_", chars: "h", min: 40},
		{kind: "digitalocean_token", prefix: "doo_v1_", chars: "h", min: 40},
		{kind: "digitalocean_token", prefix: "dor_v1_", chars: "h", min: 40},
		{kind: "vault_token", prefix: "hvs.", chars: "w-_", min: 20},
		{kind: "vault_token", prefix: "hvb.", chars: "w-_", min: 20},
		{kind: "vault_token", prefix: "hvr.", chars: "w-_", min: 20},
		{kind: "terraform_token", prefix: ".atlasv1.", chars: "w-_=", min: 40, inner: true},
		{kind: "databricks_token", prefix: "dapi", chars: "h-", min: 32},
		{kind: "docker_token", prefix: "dckr_pat_", chars: "w-_", min: 20},
		{kind: "docker_token", prefix: "dckr_oat_", chars: "w-_", min: 20},
		{kind: "newrelic_key", prefix: "NRAK-", chars: "w", min: 20},
		{kind: "newrelic_key", prefix: "NRII-", chars: "w-_", min: 20},
		{kind: "doppler_token", prefix: "dp.st.", chars: "w-_.", min: 30},
		{kind: "doppler_token", prefix: "dp.pt.", chars: "w-_.", min: 30},
		{kind: "doppler_token", prefix: "dp.ct.", chars: "w-_.", min: 30},
		{kind: "linear_key", prefix: "lin_api_", chars: "w", min: 30},
		{kind: "shopify_token", prefix: "shpat_", chars: "h", min: 24},
		{kind: "shopify_token", prefix: "shpca_", chars: "h", min: 24},
		{kind: "shopify_token", prefix: "shppa_", chars: "h", min: 24},
		{kind: "shopify_secret", prefix: "shpss_", chars: "h", min: 24},
		{kind: "grafana_token", prefix: "glsa_", chars: "w_", min: 30},
		{kind: "grafana_token", prefix: "glc_", chars: "w+/=", min: 30},
		{kind: "notion_token", prefix: "ntn_", chars: "w", min: 30},
		{kind: "notion_token", prefix: "secret_", chars: "w", min: 40},
		{kind: "atlassian_token", prefix: "ATATT3", chars: "w-_=", min: 40},
		{kind: "atlassian_token", prefix: "ATCTT3", chars: "w-_=", min: 40},
		{kind: "airtable_token", prefix: "pat", chars: "w.", min: 79, max: 79},
		{kind: "asana_token", prefix: "1/", chars: "d:h", min: 45},
		{kind: "figma_token", prefix: "figd_", chars: "w-_", min: 30},
		{kind: "postman_key", prefix: "PMAK-", chars: "w-", min: 30},
		{kind: "pulumi_token", prefix: "pul-", chars: "h", min: 36},
		{kind: "prefect_key", prefix: "pnu_", chars: "w", min: 30},
		{kind: "planetscale_token", prefix: "pscale_tkn_", chars: "w-_.=", min: 20},
		{kind: "planetscale_password", prefix: "pscale_pw_", chars: "w-_.=", min: 20},
		{kind: "sentry_token", prefix: "sntrys_", chars: "w+/=_", min: 30},
		{kind: "sentry_token", prefix: "sntryu_", chars: "h", min: 30},
		{kind: "supabase_key", prefix: "sbp_", chars: "h", min: 30},
		{kind: "flyio_token", prefix: "fo1_", chars: "w-_", min: 30},
		{kind: "flyio_token", prefix: "fm2_", chars: "w+/=", min: 40},
		{kind: "tailscale_key", prefix: "tskey-", chars: "w-", min: 20},
		{kind: "buildkite_token", prefix: "bkua_", chars: "h", min: 30},
		{kind: "circleci_token", prefix: "CCIPAT_", chars: "w_", min: 30},
		{kind: "square_token", prefix: "EAAA", chars: "w-_", min: 56},
		{kind: "square_token", prefix: "sq0atp-", chars: "w-_", min: 20},
		{kind: "square_secret", prefix: "sq0csp-", chars: "w-_", min: 20},
		{kind: "age_key", prefix: "AGE-SECRET-KEY-1", chars: "u", min: 20},
		{kind: "belay_lease", prefix: "blease_", chars: "w-_", min: 16},
	}
}

// findTokens looks for every form. Prefixes are searched one by one: strings.Index
// runs at memory speed, and there are about a hundred.
func findTokens(s string, add func(kind string, from, to int)) {
	for _, t := range known {
		for at := 0; ; {
			i := strings.Index(s[at:], t.prefix)
			if i < 0 {
				break
			}
			from := at + i
			to := from + len(t.prefix)
			at = to
			if !t.inner && from > 0 && (inClass(s[from-1], "w_") || s[from-1] == '-' && t.prefix[0] != '.' && from > 1 && inClass(s[from-2], "w")) {
				if !afterEscape(s, from) {
					continue
				}
			}
			start := to
			for to < len(s) && inClass(s[to], t.chars) && (t.max == 0 || to-start < t.max) {
				to++
			}
			if n := to - start; n < t.min || t.max > 0 && to < len(s) && inClass(s[to], t.chars) {
				continue
			}
			if strings.IndexByte(t.chars, '.') >= 0 || strings.IndexByte(t.chars, '-') >= 0 {
				to = start + len(strings.TrimRight(s[start:to], ".-"))
			}
			for t.inner && from > 0 && inClass(s[from-1], "w") {
				from--
			}
			if dull(s[start:to]) {
				continue
			}
			add(t.kind, from, to)
			at = to
		}
	}
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
