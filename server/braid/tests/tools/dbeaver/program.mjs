// What DBeaver asks the catalogs, in queries of our own that read the same columns and functions.
import { introspect } from '../harness/introspection.mjs';

await introspect();
