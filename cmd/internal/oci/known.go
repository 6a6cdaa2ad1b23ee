package oci

import "regexp"

// service is a registry of which it is known where it has its blobs. The table is of
// November 2026. A host that moves costs a flag, no release: --blob-host names it.
type service struct {
	endpoints string   // a regular expression for all of the registry's host
	blobs     []string // hosts, in which ${1} is a part of the registry's
}

// services are exact hosts, each for its own registry: a bucket, or a domain that is that
// service's own. Where a name stands for content of many
// (storage.googleapis.com), digests still say which content is taken, and no credential goes there.
//
// Sources: Docker, "Allowlist for Docker Desktop"; Red Hat, "Firewall changes for container image
// pulls"; AWS, "Amazon ECR interface VPC endpoints" (the bucket of layers) and EKS Anywhere's
// requirements (ECR Public); Trivy's troubleshooting page (GHCR). Artifact Registry
// (*.pkg.dev) redirects to itself.
func services() []service {
	return []service{
		{`ghcr\.io`, []string{"pkg-containers.githubusercontent.com"}},
		{`registry-1\.docker\.io`, []string{
			"production.cloudfront.docker.com", "production.cloudflare.docker.com",
			"docker-images-prod.6aa30f8b08e16409b46e0173d6de2f56.r2.cloudflarestorage.com",
			"docker-images-prod.s3.dualstack.us-east-1.amazonaws.com",
		}},
		{`quay\.io`, []string{"cdn.quay.io", "cdn01.quay.io", "cdn02.quay.io", "cdn03.quay.io", "cdn04.quay.io",
			"cdn05.quay.io", "cdn06.quay.io"}},
		{`[0-9]{12}\.dkr\.ecr(?:-fips)?\.([a-z0-9-]+)\.amazonaws\.com`,
			[]string{"prod-${1}-starport-layer-bucket.s3.${1}.amazonaws.com"}},
		{`[0-9]{12}\.dkr\.ecr\.(cn-[a-z0-9-]+)\.amazonaws\.com\.cn`,
			[]string{"prod-${1}-starport-layer-bucket.s3.${1}.amazonaws.com.cn"}},
		{`public\.ecr\.aws`, []string{"d5l0dvt14r5h8.cloudfront.net", "d2glxqk2uabbnd.cloudfront.net"}},
		{`(?:[a-z]+\.)?gcr\.io`, []string{"storage.googleapis.com"}},
	}
}

// knownBlobHosts returns where a registry of the table has its blobs. A registry with
// a port is none of them.
func knownBlobHosts(endpoint string) []string {
	var hosts []string
	for _, s := range services() {
		re := regexp.MustCompile(`\A` + s.endpoints + `\z`)
		at := re.FindStringSubmatchIndex(endpoint)
		if at == nil {
			continue
		}
		for _, b := range s.blobs {
			hosts = append(hosts, string(re.ExpandString(nil, b, endpoint, at)))
		}
	}
	return hosts
}
