package bucketfs

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path"
	"strings"

	"gocloud.dev/blob"
)

// Open opens the bucket that a URL names and returns it with the directory in
// it that the URL goes on to name:
//
//	s3://lake/jobs/billing/checkpoint?region=eu-central-1
//	gs://lake/jobs/billing/checkpoint
//	azblob://container/jobs/billing/checkpoint
//	file:///mnt/lake/jobs/billing/checkpoint
//
// The parameters are those of the package of gocloud.dev for that service, which
// the program has to import. Credentials come from where the service's own
// tools take them. The caller closes the bucket.
func Open(ctx context.Context, text string) (_ *blob.Bucket, root string, _ error) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		// Without the text, which may hold what nobody else should see.
		return nil, "", fmt.Errorf("the bucket's URL: %w", errors.Unwrap(err))
	case u.Scheme == "":
		return nil, "", fmt.Errorf("%s: not the URL of a bucket, such as s3://bucket/path", text)
	case u.User != nil:
		return nil, "", errors.New("the bucket's URL: no credentials belong in it")
	}
	root = "."
	if u.Scheme != "file" { // whose bucket is the directory
		if p := strings.Trim(u.Path, "/"); p != "" {
			root = path.Clean(p)
		}
		u.Path, u.RawPath = "", ""
	}
	b, err := blob.DefaultURLMux().OpenBucketURL(ctx, u)
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", u, err)
	}
	return b, root, nil
}
