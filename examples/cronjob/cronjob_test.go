// Package cronjob holds no code: these tests keep its files true.
package cronjob

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/robfig/cron/v3"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

const (
	fixture = "../../testdata/4.1.4/ad_billing/checkpoint"
	image   = "USER 65532:65532"
)

// parse reads cronjob.yaml into the types of Kubernetes; a field that these do
// not have is an error.
func parse(t *testing.T) (batchv1.CronJob, corev1.ConfigMap) {
	text, err := os.ReadFile("cronjob.yaml")
	require.NoError(t, err)
	documents := bytes.Split(text, []byte("\n---\n"))
	require.Len(t, documents, 2)
	var job batchv1.CronJob
	require.NoError(t, yaml.UnmarshalStrict(documents[0], &job))
	require.Equal(t, "batch/v1 CronJob", job.APIVersion+" "+job.Kind)
	var script corev1.ConfigMap
	require.NoError(t, yaml.UnmarshalStrict(documents[1], &script))
	require.Equal(t, "v1 ConfigMap", script.APIVersion+" "+script.Kind)
	return job, script
}

// TestSafe: it cannot write into the checkpoint, whatever it does, and has no
// rights that it does not need.
func TestSafe(t *testing.T) {
	job, script := parse(t)
	pod := job.Spec.JobTemplate.Spec.Template.Spec
	require.Equal(t, corev1.RestartPolicyNever, pod.RestartPolicy)
	require.False(t, *pod.AutomountServiceAccountToken)
	require.True(t, *pod.SecurityContext.RunAsNonRoot)
	require.NotZero(t, *pod.SecurityContext.RunAsUser)
	require.Equal(t, corev1.SeccompProfileTypeRuntimeDefault, pod.SecurityContext.SeccompProfile.Type)
	require.Len(t, pod.Containers, 1)
	c := pod.Containers[0]
	require.True(t, *c.SecurityContext.ReadOnlyRootFilesystem)
	require.False(t, *c.SecurityContext.AllowPrivilegeEscalation)
	require.Equal(t, []corev1.Capability{"ALL"}, c.SecurityContext.Capabilities.Drop)
	require.False(t, c.Resources.Limits.Memory().IsZero())

	volumes := map[string]corev1.Volume{}
	for _, v := range pod.Volumes {
		volumes[v.Name] = v
	}
	env := map[string]string{}
	for _, e := range c.Env {
		env[e.Name] = e.Value
	}
	var writable []string
	for _, m := range c.VolumeMounts {
		v, ok := volumes[m.Name]
		require.True(t, ok, m.Name)
		delete(volumes, m.Name)
		switch {
		case v.PersistentVolumeClaim != nil:
			require.True(t, v.PersistentVolumeClaim.ReadOnly)
			require.True(t, m.ReadOnly)
			require.True(t, strings.HasPrefix(env["CKPT"], m.MountPath+"/"))
		case v.ConfigMap != nil:
			require.True(t, m.ReadOnly)
			require.Equal(t, script.Name, v.ConfigMap.Name)
			require.Equal(t, []string{"/bin/sh", m.MountPath + "/run.sh"}, c.Command)
		default:
			require.NotNil(t, v.EmptyDir)
			require.False(t, v.EmptyDir.SizeLimit.IsZero())
			writable = append(writable, m.MountPath)
		}
	}
	require.Empty(t, volumes, "volumes that are not mounted")
	require.Equal(t, []string{env["SCRATCH"]}, writable)
	docker, err := os.ReadFile("Dockerfile")
	require.NoError(t, err)
	require.Contains(t, string(docker), image)
}

// TestSchedule: a run ends before the next one begins.
func TestSchedule(t *testing.T) {
	job, _ := parse(t)
	every, err := cron.ParseStandard(job.Spec.Schedule)
	require.NoError(t, err)
	first := every.Next(job.CreationTimestamp.Time)
	spec := job.Spec
	require.Greater(t, every.Next(first).Sub(first).Seconds(), float64(*spec.JobTemplate.Spec.ActiveDeadlineSeconds))
	require.Equal(t, batchv1.ForbidConcurrent, spec.ConcurrencyPolicy)
	require.Zero(t, *spec.JobTemplate.Spec.BackoffLimit)
}

// tool builds sparkstate and returns a PATH that begins with it.
func tool(t *testing.T) string {
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(dir, "sparkstate"), "./examples/sparkstate")
	cmd.Dir = "../.."
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return "PATH=" + dir + string(os.PathListSeparator) + os.Getenv("PATH")
}

// sh runs a command of a script, with an environment.
func sh(t *testing.T, script string, env ...string) (code int, out string) {
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", script)
	cmd.Env = append(os.Environ(), env...)
	text, err := cmd.CombinedOutput()
	if _, exited := err.(*exec.ExitError); !exited {
		require.NoError(t, err)
	}
	return cmd.ProcessState.ExitCode(), string(text)
}

// TestScripts runs what the two files say, against a checkpoint that is fine, one
// that is damaged, and none.
func TestScripts(t *testing.T) {
	path := tool(t)
	_, config := parse(t)
	damaged := filepath.Join(t.TempDir(), "checkpoint")
	require.NoError(t, os.CopyFS(damaged, os.DirFS(fixture)))
	require.NoError(t, os.Remove(filepath.Join(damaged, "state/1/2/7.delta")))
	cases := []struct {
		ckpt string
		code int
	}{{fixture, 0}, {damaged, 3}, {filepath.Join(t.TempDir(), "none"), 3}}

	t.Run("kubernetes", func(t *testing.T) {
		for _, c := range cases {
			scratch := t.TempDir()
			code, out := sh(t, config.Data["run.sh"], path, "CKPT="+c.ckpt, "SCRATCH="+scratch)
			require.Equal(t, c.code, code, out)
			require.NotEmpty(t, out)
			if c.code == 0 {
				require.FileExists(t, filepath.Join(scratch, "report.html"))
			}
		}
	})
	t.Run("cron", func(t *testing.T) {
		if _, err := exec.LookPath("flock"); err != nil {
			t.Skip("flock is not installed")
		}
		text, err := os.ReadFile("crontab")
		require.NoError(t, err)
		line := regexp.MustCompile(`(?m)^([*/0-9]+ \S+ \S+ \S+ \S+) (.*)$`).FindStringSubmatch(string(text))
		require.NotNil(t, line)
		_, err = cron.ParseStandard(line[1])
		require.NoError(t, err)
		require.NotContains(t, line[2], "%", "which cron takes for the end of a line")
		command := strings.ReplaceAll(line[2], "/tmp/sparkstate.lock", filepath.Join(t.TempDir(), "lock"))
		for _, c := range cases {
			code, out := sh(t, command, path, "CKPT="+c.ckpt)
			require.Zero(t, code, "cron does not look")
			require.Equal(t, c.code == 0, out == "", out)
			if c.code != 0 {
				require.Contains(t, out, "exit code 3: ")
			}
		}
	})
}
