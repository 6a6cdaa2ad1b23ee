//! Resources of clouds and clusters, and what databases hold.

use alloc::format;
use alloc::string::String;

use crate::hook::analysis::Command;
use crate::text::Text;

pub fn judge(t: &Text, c: &Command) -> Option<String> {
    if clears(t, c) {
        return Some(format!("{} would delete what a database holds", c.name));
    }
    deletes(c).then(|| format!("{} would delete resources", c.name))
}

/// Words by which such tools delete.
fn is_removal(word: &str) -> bool {
    let verb = word.rsplit(':').next().unwrap_or("");
    matches!(
        verb,
        "delete" | "destroy" | "remove" | "rm" | "rb" | "purge" | "terminate" | "uninstall" | "del" | "nuke" | "down" | "reset" | "drop" | "undeploy"
    ) || ["delete-", "terminate-", "destroy-", "remove-", "deregister-", "purge-", "delete_"].iter().any(|p| verb.starts_with(p))
}

fn deletes(c: &Command) -> bool {
    let says = |word: &str| c.args().iter().any(|w| w.text == word);
    if says("--dry-run") || says("--dry-run=client") || says("--dry-run=server") || says("--dryrun") || says("--help") {
        return false;
    }
    let operands = || c.args().iter().map(|w| w.text.as_str()).filter(|w| !w.starts_with('-'));
    let first = operands().next().unwrap_or("");
    // The verb stands among the first words: behind the service, and what it is about.
    let among = |n: usize| operands().take(n).any(|w| is_removal(w) && w != "down" && w != "reset");
    match c.name.as_str() {
        "aws" => among(2) || (says("sync") && says("--delete")),
        "gcloud" | "az" | "oci" | "ibmcloud" | "aliyun" | "yc" => operands().take(6).any(is_removal),
        "gsutil" | "rclone" | "mc" | "s3cmd" | "s5cmd" | "b2" => matches!(first, "rm" | "rb" | "del" | "delete" | "purge" | "deletefile" | "delete-bucket"),
        "terraform" | "tofu" | "terragrunt" => {
            matches!(first, "destroy") || says("-destroy") || says("run-all") && says("destroy") || (among(2) && matches!(first, "state" | "workspace"))
        }
        "pulumi" | "cdk" | "sam" | "sls" | "serverless" | "eksctl" | "kops" | "copilot" | "eb" | "chalice" | "kubectl" | "oc" | "k" | "helm" | "argocd"
        | "flux" | "doctl" | "heroku" | "fly" | "flyctl" | "vercel" | "netlify" | "wrangler" | "firebase" | "supabase" | "railway" | "linode-cli" | "hcloud"
        | "scw" | "openstack" | "vultr-cli" | "render" | "neonctl" | "pscale" | "turso" | "atlas" | "mongocli" | "confluent" | "vault" | "consul" | "etcdctl"
        | "rabbitmqctl" | "exo" | "civo" | "ovhcloud" | "cf" | "dapr" | "nomad" => {
            among(3) || (matches!(c.name.as_str(), "supabase" | "railway") && operands().take(2).any(|w| matches!(w, "reset" | "down"))) || says("-purge")
        }
        "gh" | "glab" => matches!(first, "repo" | "release" | "secret" | "environment" | "project") && among(2),
        "aws-nuke" | "cloud-nuke" | "gcp-nuke" | "azure-nuke" => true,
        name if name.starts_with("kafka-topics") => says("--delete"),
        _ => false,
    }
}

/// SQL, and the clients of other databases.
fn clears(t: &Text, c: &Command) -> bool {
    let text = || c.args().iter().map(|w| w.text.as_str());
    let says = |word: &str| text().any(|w| w.eq_ignore_ascii_case(word));
    match c.name.as_str() {
        "dropdb" | "dropuser" => return !says("--help"),
        "mysqladmin" | "mariadb-admin" => return says("drop"),
        "redis-cli" | "valkey-cli" | "keydb-cli" => return says("flushall") || says("flushdb"),
        "mongosh" | "mongo" => {
            return text().any(|w| ["dropDatabase", ".drop(", "deleteMany({})", "deleteMany( {}", ".remove({})"].iter().any(|d| w.contains(d)))
        }
        "rails" | "rake" | "bin/rails" | "sequelize" | "sequelize-cli" => return text().any(|w| matches!(w, "db:drop" | "db:reset" | "db:purge" | "db:drop:all" | "db:migrate:reset")),
        "prisma" => return says("migrate") && says("reset") || says("--force-reset"),
        "php" | "artisan" => return text().any(|w| matches!(w, "migrate:fresh" | "migrate:reset" | "db:wipe")),
        _ if text().any(|w| w.ends_with("manage.py")) => return text().any(|w| matches!(w, "flush" | "reset_db" | "sqlflush")),
        _ => {}
    }
    let at = t.shell.commands.iter().position(|o| core::ptr::eq(o, c)).or(Some(0));
    t.programs.iter().filter(|p| p.language == "sql" && p.command == at).any(|p| p.text.split(';').any(drops))
}

/// Whether a statement drops or empties a table, or deletes without saying which rows.
fn drops(statement: &str) -> bool {
    let upper = statement.to_ascii_uppercase();
    let mut words = upper.split_whitespace();
    match words.next() {
        Some("DROP") => matches!(words.next(), Some("TABLE" | "DATABASE" | "SCHEMA" | "KEYSPACE" | "COLLECTION" | "VIEW" | "MATERIALIZED" | "OWNED" | "USER" | "ROLE")),
        Some("TRUNCATE") => true,
        Some("DELETE") => !words.any(|w| w == "WHERE"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn resources_and_databases() {
        super::super::tests::judges(
            super::judge,
            &[
                ("aws ec2 terminate-instances --instance-ids i-1", true),
                ("aws s3 rm s3://b/x --recursive", true),
                ("aws s3 ls", false),
                ("aws s3 rm s3://b/x --dryrun", false),
                ("gcloud compute instances delete web", true),
                ("gcloud compute instances list", false),
                ("az group delete -n x", true),
                ("terraform destroy -auto-approve", true),
                ("terraform apply -destroy", true),
                ("terraform plan", false),
                ("kubectl delete pod web", true),
                ("kubectl -n dev delete ns x", true),
                ("kubectl get pods", false),
                ("helm uninstall web", true),
                ("heroku pg:reset", true),
                ("heroku apps:destroy x", true),
                ("flyctl apps destroy x", true),
                ("gh repo delete o/r --yes", true),
                ("gh pr view", false),
                ("psql -c x :: DROP TABLE users", true),
                ("psql -c x :: select 1; truncate jobs", true),
                ("mysql -e x :: DELETE FROM jobs", true),
                ("mysql -e x :: delete from jobs where id = 1", false),
                ("dropdb app", true),
                ("redis-cli FLUSHALL", true),
                ("redis-cli get x", false),
                ("rails db:drop", true),
            ],
        );
    }
}
