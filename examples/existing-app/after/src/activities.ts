export async function priceOf(item: string): Promise<number> {
  return item === 'piano' ? 490_000 : 4_900;
}
