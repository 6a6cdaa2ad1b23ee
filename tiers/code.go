package tiers

// Code says why a hook is not trusted. It is stable: scripts and records may rely
// on it. A Code is also the class of the Error that carries it, for errors.Is.
type Code string

// The codes. Each means that the hook is not trusted, whatever its tier comes to.
const (
	Unsigned Code = "unsigned" // there is no evidence at all
	// tampered file, edited payload, wrong key, expired certificate, missing log entry or timestamp
	SignatureInvalid Code = "signature_invalid"
	// unknown key, other identity or issuer, or a rule that does not vouch for this hook
	SignerNotTrusted Code = "signer_not_trusted"
	ThresholdNotMet  Code = "threshold_not_met" // some of the signers that a rule wants, but not enough
	NotAnApproval    Code = "not_an_approval"   // signed statements about the file, and no signature of it
	// enough signers, and a statement that the rule requires is missing or says something else
	AttestationMissing Code = "attestation_missing"
	Revoked            Code = "revoked"          // the file, or its signer, is on a deny list
	BundleMalformed    Code = "bundle_malformed" // the evidence cannot be read
	RootMissing        Code = "root_missing"     // a keyless signature, and no trusted root to check it with
	PolicyUnusable     Code = "policy_unusable"  // trust.yaml is there and cannot be used
)

// Error returns the class's text.
func (c Code) Error() string {
	switch c {
	case Unsigned:
		return "unsigned"
	case SignatureInvalid:
		return "signature not valid"
	case SignerNotTrusted:
		return "signer not trusted"
	case ThresholdNotMet:
		return "not enough signers"
	case NotAnApproval:
		return "not an approval"
	case AttestationMissing:
		return "required statement missing"
	case Revoked:
		return "revoked"
	case BundleMalformed:
		return "evidence malformed"
	case RootMissing:
		return "trusted root missing"
	case PolicyUnusable:
		return "trust policy not usable"
	}
	return string(c)
}

// Advice says what an operator can do about it.
func (c Code) Advice() string {
	switch c {
	case Unsigned:
		return "Have it signed (`belay hook sign --key KEY FILE`, or cosign sign-blob) and keep the bundle beside the file as FILE.sigstore.json."
	case SignatureInvalid:
		return "The file or its signature is not what was signed. Get both again from their publisher; do not sign it yourself to make this go away."
	case SignerNotTrusted:
		return "`belay hook verify FILE` shows who signed. If you want to trust that signer, `belay trust add-key` or `belay trust add-identity` writes a rule."
	case ThresholdNotMet:
		return "Get the missing signatures and keep each beside the file as FILE.<n>.sigstore.json."
	case NotAnApproval:
		return "A statement about a file can say anything, also that it failed a check. Have the file itself signed (`belay hook sign --key KEY FILE`, or cosign sign-blob)."
	case AttestationMissing:
		return "`belay hook verify FILE` says what the rule requires. Get that statement from the party that builds or checks the hook, and keep it beside the file as FILE.<n>.sigstore.json."
	case Revoked:
		return "It was revoked on purpose. Install a version that is not, or take the entry out of the deny list in trust.yaml (`belay trust list` shows it)."
	case BundleMalformed:
		return "Get the bundle again, or remove it; only Sigstore bundles v0.3 and detached signatures are read."
	case RootMissing:
		return "Name the trusted root of the signing infrastructure in trust.yaml (trustedRoot: FILE); belay never fetches one."
	case PolicyUnusable:
		return "`belay trust check` says what is wrong with it. Until it is mended no hook from outside the binary is loaded."
	}
	return ""
}
