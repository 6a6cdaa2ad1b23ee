package redact

import (
	"encoding/base64"
	"strings"
)

// heldToken is one issuer's form. named is the name it stands behind in
// configuration; self says that the form is known without any name.
type heldToken struct {
	kind, named string
	self        bool
	make        func(h held) string
}

// heldTokens are the issuers' published forms, from their documentation.
func heldTokens() []heldToken {
	pre := func(kind, named, prefix, alphabet string, n int) heldToken {
		return heldToken{kind, named, true, func(h held) string { return prefix + h.of(alphabet, n-1) + h.of(heldHex, 1) }}
	}
	beh := func(kind, named string, make func(h held) string) heldToken {
		return heldToken{kind, named, false, make}
	}
	self := func(kind, named string, make func(h held) string) heldToken {
		return heldToken{kind, named, true, make}
	}
	return []heldToken{
		self("aws-id", "AWS_ACCESS_KEY_ID", func(h held) string { return h.one("AKIA", "ASIA") + h.of(heldB32, 16) }),
		beh("aws-secret", "AWS_SECRET_ACCESS_KEY", func(h held) string { return h.of(heldB64, 40) }),
		beh("aws-session", "AWS_SESSION_TOKEN", func(h held) string { return "IQoJb3JpZ2luX2Vj" + h.b64(240) }),
		pre("github-classic", "GITHUB_TOKEN", "ghp_", heldAlnum, 36), pre("github-oauth", "GH_TOKEN", "gho_", heldAlnum, 36),
		pre("github-user", "GH_USER_TOKEN", "ghu_", heldAlnum, 36),
		pre("github-server", "GITHUB_TOKEN", "ghs_", heldAlnum, 36),
		pre("github-refresh", "GH_REFRESH", "ghr_", heldAlnum, 76),
		self("github-fine", "GITHUB_PAT", func(h held) string { return "github_pat_" + h.alnum(22) + "_" + h.alnum(59) }),
		pre("gitlab-pat", "GITLAB_TOKEN", "glpat-", heldURL, 20), pre("gitlab-runner", "RUNNER_TOKEN", "glrt-", heldURL, 20),
		pre("gitlab-deploy", "CI_DEPLOY", "gldt-", heldURL, 20), pre("gitlab-trigger", "TRIGGER", "glptt-", heldHex, 40),
		self("gitlab-routable", "GITLAB_TOKEN", func(h held) string {
			return "glpat-" + h.url(27) + ".01." + h.of(heldHex, 9)
		}),
		pre("gitlab-registration", "REG", "GR1348941", heldURL, 20), pre("gitlab-scim", "SCIM", "glsoat-", heldURL, 20),
		self("slack-bot", "SLACK_BOT_TOKEN", func(h held) string {
			return "xoxb-" + h.of(heldDigit, 12) + "-" + h.of(heldDigit, 13) + "-" + h.alnum(24)
		}),
		self("slack-user", "SLACK_TOKEN", func(h held) string {
			return "xoxp-" + h.of(heldDigit, 12) + "-" + h.of(heldDigit, 12) + "-" + h.of(heldDigit, 13) + "-" + h.hex(32)
		}),
		self("slack-rotating", "SLACK_TOKEN", func(h held) string {
			return "xoxe.xoxp-1-" + h.alnum(160)
		}),
		self("slack-client", "SLACK_COOKIE", func(h held) string {
			return "xoxc-" + h.of(heldDigit, 12) + "-" + h.of(heldDigit, 12) + "-" + h.hex(64)
		}),
		self("slack-app", "SLACK_APP_TOKEN", func(h held) string {
			return "xapp-1-A" + h.of(heldUpper+heldDigit, 10) + "-" + h.of(heldDigit, 13) + "-" + h.hex(64)
		}),
		pre("stripe-live", "STRIPE_SECRET_KEY", "sk_live_", heldAlnum, 24),
		pre("stripe-long", "STRIPE_KEY", "sk_live_51", heldAlnum, 97),
		pre("stripe-test", "STRIPE_TEST", "sk_test_", heldAlnum, 24),
		pre("stripe-restricted", "RK", "rk_live_", heldAlnum, 24),
		pre("stripe-webhook", "STRIPE_WEBHOOK", "whsec_", heldAlnum, 32),
		beh("twilio-auth", "TWILIO_AUTH_TOKEN", func(h held) string { return h.hex(32) }),
		pre("twilio-key", "TWILIO_API_KEY", "SK", heldHex, 32),
		self("sendgrid", "SENDGRID_API_KEY", func(h held) string { return "SG." + h.url(22) + "." + h.url(43) }),
		pre("mailgun", "MAILGUN_API_KEY", "key-", heldHex, 32),
		beh("mailgun-new", "MAILGUN_API_KEY", func(h held) string { return h.hex(32) + "-" + h.hex(8) + "-" + h.hex(8) }),
		self("mailchimp", "MAILCHIMP_KEY", func(h held) string { return h.hex(32) + "-us" + h.one("6", "14", "21") }),
		beh("postmark", "POSTMARK_SERVER_TOKEN", held.uuid), pre("npm", "NPM_TOKEN", "npm_", heldAlnum, 36),
		self("pypi", "TWINE_PASSWORD", func(h held) string { return "pypi-AgEIcHlwaS5vcmc" + h.url(150) }),
		pre("docker-hub", "DOCKERHUB_TOKEN", "dckr_pat_", heldURL, 27),
		pre("docker-org", "DOCKERHUB_TOKEN", "dckr_oat_", heldURL, 32),
		pre("rubygems", "GEM_HOST_API_KEY", "rubygems_", heldHex, 48),
		pre("nuget", "NUGET_KEY", "oy2", heldLower+"234567", 43),
		pre("crates", "CARGO_REGISTRY_TOKEN", "cio", heldAlnum, 32),
		beh("azure-storage", "AZURE_STORAGE_KEY", func(h held) string { return h.b64(64) }),
		self("azure-client", "AZURE_CLIENT_SECRET", func(h held) string {
			return h.alnum(3) + h.of(heldDigit, 1) + "Q~" + h.alnum(34)
		}),
		beh("azure-devops", "AZURE_DEVOPS_EXT_PAT", func(h held) string { return h.of(heldLower+"234567", 52) }),
		pre("google-api", "GOOGLE_API_KEY", "AIza", heldURL, 35),
		pre("google-oauth", "GOOGLE_CLIENT_SECRET", "GOCSPX-", heldURL, 28),
		pre("google-access", "GCP_ACCESS", "ya29.", heldURL, 140), pre("google-refresh", "REFRESH", "1//0", heldURL, 60),
		self("openai-project", "OPENAI_API_KEY", func(h held) string {
			return "sk-proj-" + h.url(74) + "T3BlbkFJ" + h.url(74)
		}),
		self("openai-service", "OPENAI_API_KEY", func(h held) string {
			return "sk-svcacct-" + h.url(58) + "T3BlbkFJ" + h.url(58)
		}),
		self("openai-admin", "OPENAI_ADMIN_KEY", func(h held) string {
			return "sk-admin-" + h.url(58) + "T3BlbkFJ" + h.url(58)
		}),
		self("anthropic", "ANTHROPIC_API_KEY", func(h held) string {
			return "sk-ant-" + h.one("api03-", "admin01-") + h.url(93) + "AA"
		}),
		pre("openrouter", "OPENROUTER_API_KEY", "sk-or-v1-", heldHex, 64),
		pre("deepseek", "DEEPSEEK_API_KEY", "sk-", heldHex, 32),
		pre("huggingface", "HF_TOKEN", "hf_", heldAlnum, 34), pre("replicate", "REPLICATE_API_TOKEN", "r8_", heldAlnum, 37),
		pre("groq", "GROQ_API_KEY", "gsk_", heldAlnum, 52), pre("perplexity", "PPLX", "pplx-", heldAlnum, 48),
		pre("xai", "XAI_API_KEY", "xai-", heldAlnum, 80), pre("elevenlabs", "ELEVEN_API_KEY", "sk_", heldHex, 48),
		self("pinecone", "PINECONE_API_KEY", func(h held) string { return "pcsk_" + h.alnum(6) + "_" + h.alnum(63) }),
		self("langsmith", "LANGSMITH_API_KEY", func(h held) string { return "lsv2_pt_" + h.hex(32) + "_" + h.hex(10) }),
		pre("tavily", "TAVILY_API_KEY", "tvly-", heldAlnum, 32),
		beh("cohere", "COHERE_API_KEY", func(h held) string { return h.alnum(40) }),
		beh("mistral", "MISTRAL_API_KEY", func(h held) string { return h.alnum(32) }),
		pre("digitalocean", "DO_TOKEN", "dop_v1_", heldHex, 64), pre("digitalocean-oauth", "DO", "doo_v1_", heldHex, 64),
		beh("heroku", "HEROKU_API_KEY", held.uuid), pre("heroku-new", "HEROKU", "HRKU-AA", heldURL, 58),
		beh("cloudflare", "CLOUDFLARE_API_TOKEN", func(h held) string { return h.of(heldURL, 39) + "a" }),
		beh("cloudflare-global", "CF_API_KEY", func(h held) string { return h.hex(37) }),
		self("cloudflare-origin", "CF_ORIGIN", func(h held) string { return "v1.0-" + h.hex(24) + "-" + h.hex(146) }),
		beh("datadog", "DD_API_KEY", func(h held) string { return h.hex(32) }),
		beh("datadog-app", "DD_APP_KEY", func(h held) string { return h.hex(40) }),
		pre("databricks", "DATABRICKS_TOKEN", "dapi", heldHex, 32), pre("shopify", "SHOPIFY", "shpat_", heldHex, 32),
		pre("shopify-app", "SHOPIFY_SECRET", "shpss_", heldHex, 32),
		pre("square", "SQUARE_TOKEN", "EAAA", heldURL, 60), pre("square-old", "SQ", "sq0atp-", heldURL, 22),
		pre("square-secret", "SQ", "sq0csp-", heldURL, 43),
		self("telegram", "TELEGRAM_BOT_TOKEN", func(h held) string {
			return h.one("6", "7") + h.of(heldDigit, 9) + ":AA" + h.url(33)
		}),
		self("discord-bot", "DISCORD_TOKEN", func(h held) string {
			return base64.RawURLEncoding.EncodeToString([]byte("1"+h.of(heldDigit, 17))) + "." + h.alnum(6) + "." + h.url(38)
		}),
		self("newrelic", "NEW_RELIC_API_KEY", func(h held) string { return "NRAK-" + h.of(heldUpper+heldDigit, 27) }),
		beh("newrelic-license", "NEW_RELIC_LICENSE_KEY", func(h held) string { return h.hex(36) + "NRAL" }),
		pre("sentry-user", "SENTRY_AUTH_TOKEN", "sntryu_", heldHex, 64),
		self("sentry-org", "SENTRY_AUTH_TOKEN", func(h held) string {
			return "sntrys_" +
				base64.StdEncoding.EncodeToString([]byte(`{"iat":1700000000.1,"url":"https://sentry.io","org":"acme"}`)) + "_" +
				h.of(heldB64, 43)
		}),
		self("grafana", "GRAFANA_TOKEN", func(h held) string { return "glsa_" + h.alnum(32) + "_" + h.hex(8) }),
		self("grafana-cloud", "GRAFANA_CLOUD", func(h held) string {
			return "glc_" +
				base64.StdEncoding.EncodeToString([]byte(`{"o":"1234","n":"ci","k":"`+h.alnum(24)+`","m":{"r":"eu"}}`))
		}),
		pre("planetscale", "PSCALE", "pscale_tkn_", heldURL, 43),
		pre("planetscale-pw", "PSCALE_PW", "pscale_pw_", heldURL, 43),
		pre("supabase", "SUPABASE_ACCESS_TOKEN", "sbp_", heldHex, 40),
		pre("supabase-secret", "SUPABASE_KEY", "sb_secret_", heldURL, 31), pre("neon", "PGPASSWORD", "npg_", heldAlnum, 12),
		beh("vercel", "VERCEL_TOKEN", func(h held) string { return h.alnum(24) }),
		pre("netlify", "NETLIFY_AUTH_TOKEN", "nfp_", heldAlnum, 36),
		self("fly", "FLY_API_TOKEN", func(h held) string { return "fm2_" + h.b64(150) }),
		pre("render", "RENDER_API_KEY", "rnd_", heldAlnum, 28),
		pre("linear", "LINEAR_API_KEY", "lin_api_", heldAlnum, 40), pre("notion", "NOTION_TOKEN", "secret_", heldAlnum, 43),
		pre("notion-new", "NOTION_TOKEN", "ntn_", heldAlnum, 46),
		self("airtable", "AIRTABLE", func(h held) string { return "pat" + h.alnum(14) + "." + h.hex(64) }),
		self("atlassian", "JIRA_API_TOKEN", func(h held) string {
			return "ATATT3xFfGF0" + h.url(170) + "=" + h.of(heldDigit+"ABCDEF", 8)
		}),
		pre("bitbucket", "BB_APP_PASSWORD", "ATBB", heldAlnum, 32),
		self("asana", "ASANA_PAT", func(h held) string { return "1/" + h.of(heldDigit, 16) + ":" + h.hex(32) }),
		pre("figma", "FIGMA_TOKEN", "figd_", heldURL, 40), pre("dropbox", "DROPBOX_TOKEN", "sl.", heldURL, 130),
		beh("okta", "OKTA_API_TOKEN", func(h held) string { return "00" + h.url(40) }),
		pre("vault", "VAULT_TOKEN", "hvs.", heldURL, 90), pre("vault-batch", "VAULT_TOKEN", "hvb.", heldURL, 138),
		pre("vault-old", "VAULT_TOKEN", "s.", heldAlnum, 24),
		self("terraform-cloud", "TF_TOKEN_app_terraform_io", func(h held) string {
			return h.alnum(14) + ".atlasv1." + h.alnum(67)
		}),
		beh("consul", "CONSUL_HTTP_TOKEN", held.uuid), pre("doppler", "DOPPLER_TOKEN", "dp.pt.", heldAlnum, 43),
		self("1password", "OP_SERVICE_ACCOUNT_TOKEN", func(h held) string {
			return "ops_" +
				base64.RawURLEncoding.EncodeToString([]byte(`{"signInAddress":"acme.1password.com","secretKey":"`+h.alnum(40)+`"}`))
		}),
		pre("pulumi", "PULUMI_ACCESS_TOKEN", "pul-", heldHex, 40),
		self("circleci", "CIRCLE_TOKEN", func(h held) string { return "CCIPAT_" + h.alnum(22) + "_" + h.hex(40) }),
		pre("buildkite", "BUILDKITE_TOKEN", "bkua_", heldHex, 40), pre("sonar", "SONAR_TOKEN", "squ_", heldHex, 40),
		beh("codecov", "CODECOV_TOKEN", held.uuid),
		pre("artifactory", "ARTIFACTORY_API_KEY", "AKCp", heldAlnum, 69),
		self("mapbox", "MAPBOX_SECRET", func(h held) string {
			return "sk." + base64.RawURLEncoding.EncodeToString([]byte(`{"u":"acme","a":"`+h.of(heldLower+heldDigit, 25)+`"}`)) +
				"." + h.url(22)
		}),
		pre("facebook", "FB_ACCESS_TOKEN", "EAAC", heldAlnum, 160),
		pre("twitter", "TWITTER_BEARER", "AAAAAAAAAAAAAAAAAAAAA", heldAlnum, 80),
		self("plaid", "PLAID_TOKEN", func(h held) string { return "access-production-" + h.uuid() }),
		pre("razorpay", "RAZORPAY_SECRET", "rzp_live_", heldAlnum, 14),
		self("braintree", "BRAINTREE_TOKEN", func(h held) string {
			return "access_token$production$" + h.of(heldLower+heldDigit, 16) + "$" + h.hex(32)
		}),
		pre("adafruit", "ADAFRUIT_IO_KEY", "aio_", heldAlnum, 28), pre("posthog", "POSTHOG_KEY", "phx_", heldAlnum, 43),
		pre("clojars", "CLOJARS", "CLOJARS_", heldHex, 60), pre("contentful", "CONTENTFUL", "CFPAT-", heldURL, 43),
		pre("prefect", "PREFECT_API_KEY", "pnu_", heldAlnum, 36),
		pre("easypost", "EASYPOST", "EZAK", heldAlnum, 54), pre("duffel", "DUFFEL", "duffel_live_", heldURL, 43),
		pre("typeform", "TYPEFORM", "tfp_", heldURL, 59),
		pre("readme", "README_KEY", "rdme_", heldLower+heldDigit, 70), pre("shippo", "SHIPPO", "shippo_live_", heldHex, 40),
		self("brevo", "BREVO_API_KEY", func(h held) string { return "xkeysib-" + h.hex(64) + "-" + h.alnum(16) }),
		beh("alibaba-secret", "ALIBABA_CLOUD_ACCESS_KEY_SECRET", func(h held) string { return h.alnum(30) }),
		pre("alibaba-id", "ALIBABA_ID", "LTAI", heldAlnum, 20),
		self("tailscale", "TS_AUTHKEY", func(h held) string { return "tskey-auth-k" + h.alnum(11) + "CNTRL-" + h.alnum(32) }),
		self("age", "SOPS_AGE_KEY", func(h held) string {
			return "AGE-SECRET-KEY-1" + h.of("QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58)
		}),
		self("jwt", "ID_TOKEN", held.jwt),
		self("lease", "BELAY_LEASE", func(h held) string { return "blt_" + h.b64url(32) }),
		self("slack-webhook", "SLACK_WEBHOOK_URL", func(h held) string {
			return "https://hooks.slack.com/services/T" + h.of(heldUpper+heldDigit, 10) + "/B" + h.of(heldUpper+heldDigit, 10) +
				"/" + h.alnum(24)
		}),
		self("teams-webhook", "TEAMS_WEBHOOK", func(h held) string {
			return "https://acme.webhook.office.com/webhookb2/" + h.uuid() + "@" + h.uuid() + "/IncomingWebhook/" + h.hex(32) +
				"/" + h.uuid()
		}),
	}
}

// heldLast is what must be gone of a token: all of it and, for a long one, its
// last characters.
func heldLast(s string) []string {
	if len(s) >= 32 && !strings.Contains(s, "://") {
		return []string{s, s[len(s)-16:]}
	}
	return []string{s}
}
